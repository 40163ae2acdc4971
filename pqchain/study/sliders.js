// Sliders of a study. All figures were computed in advance, and this script looks them up by the
// positions of the sliders; the last slider changes the index fastest.
const grid = JSON.parse(document.getElementById("grid").textContent);
const form = document.getElementById("sliders"), again = document.getElementById("again");
const rows = [...document.querySelectorAll("#moved tbody tr")];
const inputs = [...form.querySelectorAll("input")];
const move = () => {
  const at = inputs.map((input) => Number(input.value));
  inputs.forEach((input, index) => {
    const text = grid.ranges[index].labels[at[index]];
    input.nextElementSibling.textContent = text;
    input.ariaValueText = text;
  });
  const place = at.reduce((sum, value, index) => sum * grid.ranges[index].labels.length + value, 0);
  const cell = grid.cells[place], base = grid.cells[grid.start];
  const most = Math.max(...base.map(([was]) => was), ...cell.map(([now]) => now)) || 1;
  rows.forEach((row, index) => {
    // A cell without rows is an impossible plan.
    const [capacity, ...texts] = cell[index] ?? [0];
    const [value, bar] = row.cells[1].children;
    [value, ...[...row.cells].slice(2)].forEach((part, figure) => {
      part.textContent = grid.texts[texts[figure]] ?? "–";
    });
    bar.style.setProperty("--share", `${(100 * capacity) / most}%`);
    bar.style.setProperty("--was", `${(100 * base[index][0]) / most}%`);
  });
  const options = at.map((value, index) => grid.ranges[index].options[value]).filter(Boolean);
  again.textContent = ["pqchain study STUDY", ...options].join(" ");
  again.parentElement.hidden = !options.length;
};
form.oninput = move;
form.onreset = () => setTimeout(move);
form.onsubmit = () => false;
form.hidden = false;
move();
