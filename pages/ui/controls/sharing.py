"""The link to what is on screen, and the menu "Share and export" of a paper's page."""

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from icl_core import registry
from icl_core.contract import knobs, settings_io
from icl_core.contract.experiment import STAGE
from icl_core.contract.publication import software_bibtex
from icl_core.contract.settings_io import file_stem
from icl_core.figures import frames
from icl_core.machine import folders
from icl_core.runs import store
from icl_core.runs.header import stored_settings, typed_config
from icl_core.runs.store import Header
from icl_core.share import stage_page
from pages.ui.link import address, visitors
from pages.ui.link.address import Setting
from pages.ui.look.qr import qr_code

_READABLE = ":,;/()"  # characters that a query may hold as they are
_BROWSER = Path(__file__).parents[1] / "browser"


def _read(name: str) -> str:
    return (_BROWSER / name).read_text(encoding="utf-8")


_LINK = st.components.v2.component(
    "icl_link", html=_read("link.html"), css=_read("link.css"), js=_read("link.js")
)
_TALK_SCRIPTS = ("plotly_parts.js", "picture_parts.js", "talk.js", "parts.js")
_TALK = st.components.v2.component(
    "icl_talk",
    html=_read("talk_menu.html"),
    css=_read("link.css"),
    js="".join(map(frames.browser_file, _TALK_SCRIPTS)) + _read("talk_menu.js"),
)


def share_link(setting: Setting, key: str = "link") -> None:
    """Draw the short link to what is on screen, a button that copies it, and its QR code; where
    others cannot open the link, how they could.

    `key` differs where the link is drawn twice on a page.
    """
    link = _link(differing_fields(setting))
    can_open = visitors.is_open_to_others(st.context.url or "")
    _LINK(key=key, data={"link": link, "code": qr_code(link) if can_open else ""})
    if not can_open:
        st.caption(
            "Only this computer can open the link. For others, and for a QR code, start the "
            "dashboard with `--server.address 0.0.0.0 --server.allowedHosts NAME`, where NAME is "
            "this computer's name or address in your network, and open it under that name."
        )


def _link(fields: dict[str, str]) -> str:
    page = (st.context.url or "").split("?")[0]
    query = urlencode(fields, safe=_READABLE)
    return f"{page}?{query}" if query else page


def tools(setting: Setting, header: Header | None) -> None:
    """Draw the menu's two parts; `header` is that of the run on screen, if there is one."""
    st.markdown("**Share** what you see:")
    share_link(setting)
    with st.expander("Link with every setting"):
        st.caption("It shows the same after presets have changed.")
        st.code(_link(all_fields(setting)), language=None, wrap_lines=True)
    with st.expander("Page of the site"):
        st.caption(
            "`python -m icl_core site OUT` writes all that is shipped as plain files. There this "
            "address shows the same; with `?embed` before the # it is for lecture notes."
        )
        st.code(site_address(setting), language=None, wrap_lines=True)
    if header is not None:
        _exports(setting, header)


def site_address(setting: Setting) -> str:
    """Return the address of what is on screen in the folder that the command `site` writes."""
    query = _link(differing_fields(setting)).partition("?")[2]
    return f"index.html#{setting.paper}" + (f"?{query}" if query else "")


def _exports(setting: Setting, header: Header) -> None:
    st.markdown("**For a talk**: the stage at 1920 × 1080, in the theme on screen.")
    _TALK(key="talk")
    st.caption(
        "The browser's print window saves the PDF. The film is an animated WebP with every "
        "snapshot of the clock. Each panel has SVG and PDF in its toolbar."
    )
    st.markdown("**Export** the run. The numbers of each figure are in the drawer Numbers.")
    config = typed_config(header)
    stem = file_stem(setting.id, config, setting.preset.config)
    name = f"{stem}-{header.digest[:8]}.safetensors"
    content = partial(store.default().content, header)
    st.download_button("Run (safetensors)", content, name, key="export", on_click="ignore")
    settings = json.dumps(settings_of(setting, config), indent=1, ensure_ascii=False)
    st.download_button(
        "Settings (JSON)", settings, f"{stem}.json", key="settings as JSON", on_click="ignore"
    )
    page = partial(_stage_page, setting, header)
    st.download_button(
        "Stage with its clock (HTML)", page, f"{stem}.html", key="stage page", on_click="ignore"
    )
    with st.expander("Cite the paper and this software (BibTeX)"):
        st.code(bibtex(setting, header), language="bibtex", wrap_lines=True)
    with st.expander("Python that reads the file"):
        st.caption("With this project installed (`pip install` and its folder), in any folder:")
        st.code(snippet(setting, config, name), language="python")
        st.caption("Without it, numbers and tensors:")
        st.code(plain_snippet(name), language="python")


def _stage_page(setting: Setting, header: Header) -> str:
    """Return the stage of the run on screen, in the view on screen, as a page of its own."""
    run = store.default().load(header)
    if run is None:
        raise FileNotFoundError(f"the run {header.key} is no longer in {header.path}")
    return stage_page.html_text(setting.id, run, setting.view)


def settings_of(setting: Setting, config: Any) -> dict[str, Any]:
    """Return what is on screen as JSON: the experiment and its version, the settings of the run and
    of the view, and the link's fields."""
    return {
        "experiment": setting.id,
        "version": registry.version(setting.id),
        "settings": stored_settings(config),
        "view": knobs.values(setting.view),
        "link": differing_fields(setting),
    }


def bibtex(setting: Setting, header: Header) -> str:
    """Return the entries of the paper, in the version that is quoted, and of this software, in the
    year of the run."""
    publication = registry.papers()[setting.paper].publication
    year = str(header.info.get("date") or "")[:4]
    software = software_bibtex(
        folders.NAME,
        folders.project_version(),
        int(year) if year.isdecimal() else datetime.now(UTC).year,
        "trained mechanisms of in-context learning",
    )
    return f"{publication.bibtex}\n\n{software}" if publication else software


def snippet(setting: Setting, config: Any, file: str) -> str:
    """Return Python code that prints the numbers of the downloaded `file`, a run of `config`, and
    shows its first panel as it is on screen. It reads nothing else and runs in any folder."""
    view = knobs.values(setting.view)
    defaults = knobs.values(type(setting.view)())
    changed = {name: value for name, value in view.items() if value != defaults[name]}
    step = st.query_params.get("step", "")
    if step.isdecimal():
        changed = {"step": int(step)} | {
            name: value for name, value in changed.items() if name != "snapshot"
        }
    arguments = [f"{name}={value!r}" for name, value in changed.items()]
    drawing = next(
        drawing.name
        for drawing in setting.experiment.drawings
        if drawing.place == STAGE and drawing.applies(config)
    )
    return f"""from icl_core.share.run_file import open_run

opened = open_run("{file}")
print(opened.report({", ".join(arguments)}))
panel = opened.panel({", ".join([repr(drawing), *arguments])})
panel.figure.plotly().show()"""


def plain_snippet(file: str) -> str:
    """Return Python code that reads the downloaded `file` without the project."""
    return f"""import json
from safetensors import safe_open

file = safe_open("{file}", framework="numpy")
run = json.loads(file.metadata()["run"])
tensors = {{name: file.get_tensor(name) for name in file.keys()}}
print(run["config"])
print(*((each["claim"], each["value"], each["verdict"]) for each in run["metrics"]), sep="\\n")"""


def differing_fields(setting: Setting) -> dict[str, str]:
    """Return the fields of the shortest link to what is on screen: the experiment and the preset
    unless they are the first, and what differs from the preset."""
    names = list(registry.papers()[setting.paper].experiments)
    fields: dict[str, str] = {}
    if setting.name != names[0]:
        fields["experiment"] = setting.name
    if setting.preset.name != setting.experiment.presets[0].name:
        fields["preset"] = setting.preset.name
    base = setting.base_view
    for settings, preset in ((setting.config, setting.preset.config), (setting.view, base)):
        preset_values = knobs.values(preset)
        values = knobs.values(settings)
        fitted = settings_io.fitted_fields(type(settings), values)
        for field, value in values.items():
            is_said = value != preset_values[field] or field in fitted
            if is_said and field != "snapshot":  # the address says a step
                fields[field] = address.value_text(value)
    return fields | _linked_fields()


def all_fields(setting: Setting) -> dict[str, str]:
    """Return every field of the setting and the experiment's version.

    A link of these shows the same thing after presets have changed.
    """
    fields = {
        "experiment": setting.name,
        "preset": setting.preset.name,
        "version": str(registry.version(setting.id)),
    }
    for field, value in {**knobs.values(setting.config), **knobs.values(setting.view)}.items():
        if field != "snapshot":  # the address says it as a step
            fields[field] = address.value_text(value)
    return fields | _linked_fields()


def _linked_fields() -> dict[str, str]:
    """Return the fields of the page itself that a link to the same state repeats."""
    query = st.query_params
    return {name: query[name] for name in address.LINKED_FIELDS if name in query}
