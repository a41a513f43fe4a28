// Renders every equation of a page; the delimiters were written by pymdownx.arithmatex.
document.querySelectorAll(".arithmatex").forEach(function (element) {
  var text = element.textContent.trim();
  katex.render(text.slice(2, -2), element, { displayMode: text.startsWith("\\["), throwOnError: true });
});
