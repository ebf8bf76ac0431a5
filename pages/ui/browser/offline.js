/* A browser without a network waits in silence for the answer to whatever is moved. So the page says why, unless the
   server is on this machine. */

const NEAR = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];

/* Returns what ends it. */
const tellOffline = () => {
  const told = document.createElement("div");
  told.className = "offline";
  told.setAttribute("role", "status");
  document.body.append(told);
  const tell = () => {
    const far = !NEAR.includes(location.hostname) && !navigator.onLine;
    told.textContent = far ? "No network. Your changes will show as soon as it is back." : "";
  };
  tell();
  for (const each of ["online", "offline"]) window.addEventListener(each, tell);
  return () => {
    for (const each of ["online", "offline"]) window.removeEventListener(each, tell);
    told.remove();
  };
};
