/* The page begins: with the class that its address names, or with the field for a code. */

enter.onsubmit = (event) => {
  event.preventDefault();
  join(find("code").value);
};
form.onsubmit = (event) => {
  event.preventDefault();
  vote(field.value);
};
document.addEventListener("visibilitychange", look);
const linked = new URLSearchParams(location.search).get("code");
if (linked) join(linked);
