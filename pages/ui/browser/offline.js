/* Say when there is no network: the browser would wait in silence for the answer to whatever the visitor changes. A
   server on this machine needs none. */

const LOCAL_HOSTS = ["localhost", "127.0.0.1", "[::1]", "0.0.0.0"];

/* Watch the network; return the function that ends it. */
const tellOffline = () => {
  const message = document.createElement("div");
  message.className = "offline";
  message.setAttribute("role", "status");
  document.body.append(message);
  const update = () => {
    const isCutOff = !LOCAL_HOSTS.includes(location.hostname) && !navigator.onLine;
    message.textContent = isCutOff ? "No network. Your changes will show as soon as it is back." : "";
  };
  update();
  for (const type of ["online", "offline"]) window.addEventListener(type, update);
  return () => {
    for (const type of ["online", "offline"]) window.removeEventListener(type, update);
    message.remove();
  };
};
