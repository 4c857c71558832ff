// mdBook opens its sidebar with a label, which the keyboard does not reach: put a button in its place.
const label = document.getElementById("mdbook-sidebar-toggle");
const checkbox = document.getElementById("mdbook-sidebar-toggle-anchor");
const button = document.createElement("button");
button.type = "button";
button.className = label.className;
button.title = label.title;
button.setAttribute("aria-label", label.title);
button.setAttribute("aria-controls", "mdbook-sidebar");
button.append(...label.cloneNode(true).childNodes);
const update = () => button.setAttribute("aria-expanded", checkbox.checked);
button.addEventListener("click", () => label.click());
checkbox.addEventListener("change", update);
update();
label.before(button);
label.style.display = "none";
