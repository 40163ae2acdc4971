// Filters of the gallery, and interactive charts in the colours of the page.
(() => {
  const form = document.querySelector("form.filters");
  if (form) {
    const cards = [...document.querySelectorAll(".thumbnail")];
    const filter = () => {
      const chosen = [...new FormData(form)].filter(([, value]) => value);
      for (const card of cards)
        card.hidden = !chosen.every(([name, value]) => card.dataset[name].split("|").includes(value));
      const shown = cards.filter((card) => !card.hidden).length;
      form.querySelector("output").textContent = `${shown} of ${cards.length} figures`;
      history.replaceState(null, "", chosen.length ? "#" + new URLSearchParams(chosen) : location.pathname + location.search);
    };
    // A permalink restores the filters.
    for (const [name, value] of new URLSearchParams(location.hash.slice(1)))
      if (form.elements.namedItem(name)) form.elements.namedItem(name).value = value;
    form.addEventListener("change", filter);
    filter();
  }
  const draw = () => {
    const style = getComputedStyle(document.body);
    for (const script of document.querySelectorAll(".chart-specification")) {
      const text = script.textContent.replace(/var\(--figure-(\w+)\)/g, (_, name) => style.getPropertyValue(`--figure-${name}`).trim());
      window.vegaEmbed(script.previousElementSibling, JSON.parse(text), { renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } });
    }
  };
  window.addEventListener("DOMContentLoaded", () => {
    if (!window.vegaEmbed || !document.querySelector(".chart-specification")) return;
    draw();
    new MutationObserver(draw).observe(document.body, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  });
})();
