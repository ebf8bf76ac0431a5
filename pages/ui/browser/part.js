/* Carry a part of what the page shows to the scripts that show it (parts.js, atlas_slider.js). Streamlit sends a
   component's code anew with whatever it carries: this code is short, and what is long carries nothing that changes. */

export default function ({ parentElement, data, setTriggerValue }) {
  const parts = (window.iclParts ??= new Set());
  parts.delete(parentElement.iclPart); // what it carried before
  const part = (parentElement.iclPart = { data, parentElement, setTriggerValue, leave: null });
  parts.add(part);
  window.dispatchEvent(new CustomEvent("icl-part", { detail: part }));
  return () => {
    parts.delete(part);
    part.leave?.();
  };
}
