// The files search_*.js are one script, in one function. Names and labels are untrusted: they become
// text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";
const MOST_ROWS = 200; // of the table, until all are requested
const NEAR = 24; // pixels: largest distance of a click from its point
const RAMP = [1, 5, 2, 4, 0]; // colours from low to high, distinct in light and dark mode
const PALETTE = Number(getComputedStyle(document.documentElement).getPropertyValue("--colours"));

const at = (id) => document.getElementById(id);
const data = JSON.parse(at("data").textContent);
const count = data.value.length;
const everyone = Array.from({ length: count }, (_, one) => one);
const complete = everyone.map((one) => data.byFold[one].length >= data.folds);
const plots = [];
let picked = 0;

// Elements

const fill = (element, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
};
const make = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);
const name = (text) => make("bdi", {}, String(text));
const many = (number) => number.toLocaleString("en");
const figure = (value, digits = data.digits) => (value === null ? "–" : value.toFixed(digits));
const share = (part, whole) => (whole ? part / whole : 0);

// Values of parameters: numbers, or [as shown, in Python, on the command line]

const valueOf = (one, parameter) => data.values[parameter][data.at[parameter][one]];
const shown = (one, parameter) => {
  const value = valueOf(one, parameter);
  if (typeof value !== "number") return value[0];
  return String(Number.isInteger(value) ? value : Number(value.toPrecision(4)));
};
const joined = (between, ...parts) => parts.filter((part) => part !== "").join(between);
// `prune` and `refined` are not arguments: they are applied after learning, and 0 means no pruning.
const pythonLine = (one) => {
  let after = "";
  const given = data.names.map((parameter, column) => {
    const value = valueOf(one, column);
    if (parameter === "prune") {
      if (value) after = `  # after learning: model.prune(${value})`;
      return "";
    }
    if (parameter === "refined") {
      if (value[2] === "--refine") after = "  # after learning: model.refine(texts, labels)";
      return "";
    }
    return typeof value === "number" ? `${parameter}=${value}` : value[1];
  });
  return `TauSS3(${joined(", ", ...given, data.base[0])})${after}`;
};
const commandLine = (one) => {
  const given = data.names.map((parameter, column) => {
    const value = valueOf(one, column);
    if (parameter === "prune" && !value) return "";
    const option = `--${parameter.replaceAll("_", "-")}`;
    return typeof value === "number" ? `${option} ${value}` : value[2];
  });
  return joined(" ", "watchword train texts.jsonl -o model.ww", ...given, data.base[1]);
};

// Counts as varints: seven bits per byte, lowest first

const numbersOf = (packed) => {
  const numbers = [];
  let number = 0;
  let factor = 1;
  for (const character of atob(packed)) {
    const byte = character.charCodeAt(0);
    number += (byte & 0x7f) * factor;
    factor *= 128;
    if (byte < 0x80) {
      numbers.push(number);
      number = 0;
      factor = 1;
    }
  }
  return numbers;
};
const labelRows = (one) => {
  const numbers = numbersOf(data.perLabel[one]);
  return data.labels.map((label, row) => {
    const [support, predicted, right] = numbers.slice(3 * row, 3 * row + 3);
    const precision = share(right, predicted);
    const recall = share(right, support);
    const f1 = share(2 * right, support + predicted);
    return { label, precision, recall, f1, support, predicted, right };
  });
};
const cellsOf = (one) => {
  const numbers = numbersOf(data.confusion[one]);
  const cells = [];
  let place = -1;
  for (let from = 0; from < numbers.length; ++from) {
    const count = Math.floor(numbers[from] / 2);
    if (numbers[from] % 2) place += numbers[++from]; // number of empty cells before it
    ++place;
    cells.push([Math.floor(place / data.labels.length), place % data.labels.length, count]);
  }
  return cells;
};
