// Marks tables and figures that are wider than the page, so that readers notice that they scroll.
function markScrollable() {
  document.querySelectorAll(".md-typeset__scrollwrap, .md-typeset p:has(> img:only-child)").forEach(function (element) {
    var wide = element.scrollWidth > element.clientWidth + 8;
    var hint = element.previousElementSibling;
    if (!hint || hint.className !== "scroll-hint") {
      if (!wide) return;
      hint = document.createElement("div");
      hint.className = "scroll-hint";
      hint.textContent = "Scroll sideways \u2194";
      element.before(hint);
    }
    hint.hidden = !wide;
    if (wide) element.tabIndex = 0; // the arrow keys scroll it
    else element.removeAttribute("tabindex");
  });
}
window.addEventListener("load", markScrollable);
window.addEventListener("resize", markScrollable);
