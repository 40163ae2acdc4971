// Sliders of a study. The formulas above are those of the model, translated from Python; the time to
// finality of a block is interpolated between runs of the consensus model.
const binding = (allowed) => Object.keys(allowed).reduce((a, b) => (allowed[b] < allowed[a] ? b : a));
const uplink = (plan) => plan.uplink;
const unavailable = () => NaN;

// Logarithm of the gamma function: recurrence up to 8, then Stirling's series.
function logGamma(x) {
  let shift = 0;
  while (x < 8) shift -= Math.log(x++);
  const z = 1 / (x * x);
  const series = (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x;
  return shift + (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + series;
}

// E[(X - bound)+] for a Poisson variable X with a mean below the bound; see queueing._excess.
function excess(mean, bound) {
  const first = Math.exp(bound * Math.log(mean) - mean - logGamma(bound + 1));
  if (first === 0) return 0;
  let total = 0, product = 1;
  const last = 64 + Math.ceil(12 * Math.sqrt(mean));
  for (let step = 1; step < last; step++) {
    product *= mean / (bound + step);
    total += step * product;
  }
  return first * total;
}

// Mean number of transactions of random length that fit: the sum over k of P(k fit), where the length
// of k transactions is nearly normal; consensus.lengths.mean_fill has the exact distribution.
function meanFill(room, mean, deviation) {
  const most = Math.floor(room / mean);
  let count = Math.max(0, Math.floor(most - (9 * deviation * Math.sqrt(most)) / mean) - 1);
  for (let k = count + 1; ; k++) {
    const fits = normal((room + 0.5 - k * mean) / (deviation * Math.sqrt(k)));
    if (fits < 1e-12) return count;
    count += fits;
  }
}

// Distribution function of the normal law (Abramowitz and Stegun 7.1.26, error below 1e-7).
function normal(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const powers = [1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592];
  const tail = powers.reduce((total, factor) => (total + factor) * t, 0) * Math.exp(-z * z) / 2;
  return x < 0 ? tail : 1 - tail;
}

class Model {
  constructor(plan, row) { Object.assign(this, { plan, facts: row, known: {} }); }
  get(name) { return (this.known[name] ??= this.count || FREE.has(name) ? FIGURES[name](this) : NaN); }
  get use() {
    const { row, baseline, use, witness_bytes: witness } = this.facts;
    return { ...use, gas: chain_gas(this.plan, row, witness, baseline) };
  }
  get allowed() {
    return (this.known.allowed ??=
      chain_per_block(this.plan, this.use, this.facts.votes, null, this.facts.baseline));
  }
  get block_limit() { return model_block_limit.call(this); }
  get limit() { return model_limit.call(this); }
  get blocks() { return model_blocks(this.plan, this); }
  get count() {
    const count = this.allowed[this.block_limit], { deviation, use } = this.facts;
    if (!count || !deviation || this.block_limit !== "bytes") return count;
    return meanFill(this.plan.block_bytes - HEADER, use.bytes, deviation);
  }
  final(transactions) {
    const points = this.facts.finals;
    if (points.length === 0) return NaN;
    if (points.length === 1) return points[0][1];
    const above = points.findIndex(([n], index) => index > 0 && n >= transactions);
    const at = above < 0 ? points.length - 1 : above;
    const [[n0, s0], [n1, s1]] = [points[at - 1], points[at]];
    return s0 + ((s1 - s0) * (transactions - n0)) / (n1 - n0);
  }
}
const FREE = new Set(["transactions_per_block", "capacity_per_second", "throughput_per_second"]);
const FIGURES = {
  transactions_per_block: (model) => model.count,
  transaction_bytes: (model) => model.facts.use.bytes,
  vote_bytes_per_block: (model) => model.facts.votes,
  final_seconds: (model) => model.final(model.count),
  single_transaction_final_seconds: (model) => model.final(1),
  capacity_per_second: figures_capacity_per_second,
  throughput_per_second: figures_throughput_per_second,
  latency_seconds: figures_latency_seconds,
  growth_bytes_per_year: figures_growth_bytes_per_year,
};

// Numbers with their units, as pqchain.figures writes them.
const grouped = (value) => {
  const text = String(Math.round(value));
  return Math.abs(value) < 10000 ? text : text.replace(/\B(?=(\d{3})+$)/g, "\u202f");
};
const significant = (value, digits = 3) => {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(digits));
  if (Math.abs(rounded) >= 10000) return grouped(rounded);
  return rounded.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(rounded)))));
};
const text = (value, unit) => {
  if (value === null || !Number.isFinite(value)) return "–";
  const write = (number, symbol) => (symbol && symbol !== "share" ? `${number}\u202f${symbol}` : number);
  if (unit === "share") return `${(100 * value).toFixed(1)}\u202f%`;
  if (unit === "s") {
    if (value === 0) return "0\u202fs";
    for (const [scale, name] of [[31557600, "years"], [86400, "d"], [3600, "h"], [60, "min"]])
      if (value >= 2 * scale) return write(significant(value / scale), name);
    const rounded = Number(value.toPrecision(3));
    const small = [[1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
    const [scale, prefix] = small.find(([least]) => Math.abs(rounded) >= least) ?? small[3];
    return write(significant(rounded / scale), `${prefix}s`);
  }
  if (unit === "gas" && value >= 1e8) return write(significant(value / 1e9), "Ggas");
  if (["B", "bit/s", "B/s"].includes(unit)) {
    for (const [scale, prefix] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
      if (value >= scale && (unit === "bit/s" || value >= 1e5))
        return write(significant(value / scale), prefix + unit);
    return write(Number.isInteger(value) ? grouped(value) : significant(value, 5), unit);
  }
  const whole = Number.isInteger(value) && (unit === "" || unit === "d");
  return write(whole ? grouped(value) : significant(value), unit);
};

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const form = document.getElementById("sliders"), again = document.getElementById("again");
  const link = document.getElementById("permalink");
  const rows = [...document.querySelectorAll("#moved tbody tr")];
  const inputs = [...form.querySelectorAll("input")];
  const changed = {};
  const capacities = (plan) => data.rows.map((row) => (row.bundled ? 0
    : new Model(plan, row).get("capacity_per_second")));
  const base = capacities(data.plan);
  const limited = (name, value) => Math.min(data.bounds[name][1], Math.max(data.bounds[name][0], value));
  const show = () => {
    const plan = { ...data.plan, ...changed };
    inputs.forEach((input, index) => {
      const { name, unit } = data.sliders[index];
      input.nextElementSibling.textContent = input.ariaValueText = text(plan[name], unit);
    });
    const now = capacities(plan), most = Math.max(...base, ...now) || 1;
    rows.forEach((row, index) => {
      const facts = data.rows[index];
      if (facts.bundled) { row.title = "a proof: see the command line"; return; }
      const model = new Model(plan, facts);
      const [value, bar] = row.cells[1].children;
      const names = Object.keys(data.units);
      [value, ...[...row.cells].slice(2, -1)].forEach((part, figure) => {
        part.textContent = text(model.get(names[figure]), data.units[names[figure]]);
      });
      row.cells[row.cells.length - 1].textContent = model.limit;
      bar.style.setProperty("--share", `${(100 * now[index]) / most}%`);
      bar.style.setProperty("--was", `${(100 * base[index]) / most}%`);
    });
    const names = Object.keys(changed);
    again.textContent = ["pqchain study STUDY", ...names.map((name) => `--set ${name}=${changed[name]}`)].join(" ");
    again.parentElement.hidden = !names.length;
    link.search = new URLSearchParams(changed).toString();
    // A page opened from a file may not change its address; the link has the values in any case.
    try { history.replaceState(null, "", link.href.replace(/\?$/, "")); } catch { /* see above */ }
  };
  const move = (input) => {
    const { name, start, is_whole: isWhole } = data.sliders[inputs.indexOf(input)];
    const position = Number(input.value);
    if (Math.abs(position) < 1e-9) delete changed[name];
    else {
      const value = limited(name, Number((start * 2 ** position).toPrecision(3)));
      changed[name] = isWhole ? Math.round(value) : value;
    }
    show();
  };
  for (const [name, given] of new URLSearchParams(location.search)) {
    const value = Number(given);
    if (!Object.hasOwn(data.bounds, name) || given === "" || !Number.isFinite(value)) continue;
    changed[name] = limited(name, value);
  }
  inputs.forEach((input, index) => {
    const { name, start } = data.sliders[index];
    if (name in changed) input.value = Math.log2(changed[name] / start);
    input.oninput = () => move(input);
  });
  form.onreset = () => setTimeout(() => { Object.keys(changed).forEach((name) => delete changed[name]); show(); });
  form.onsubmit = () => false;
  form.hidden = false;
  show();
}
if (typeof document !== "undefined") start();
