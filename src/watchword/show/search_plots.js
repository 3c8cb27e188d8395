// The tooltip of a point

const told = at("told");
const tell = (one, box) => {
  const spread = data.deviation[one] === null ? "" : ` ± ${figure(data.deviation[one])}`;
  const state = complete[one] ? "" : `, ${data.byFold[one].length} of ${data.folds} folds`;
  told.replaceChildren(
    make("b", {}, `${data.measure} ${figure(data.value[one])}`),
    `${spread} (#${one + 1}${one === 0 ? ", best" : ""}${state})`,
    ...data.names.map((parameter, column) =>
      make("span", {}, name(parameter), ` ${shown(one, column)}`)),
  );
  told.hidden = false;
  const { width, height } = told.getBoundingClientRect();
  // Towards the middle of the plot, away from its neighbours.
  const wanted = box.x > box.middle ? box.x - width - 14 : box.x + 14;
  const left = Math.min(wanted, document.documentElement.clientWidth - width - 8);
  const above = box.y - height - 14;
  told.style.left = `${Math.max(4, left)}px`;
  told.style.top = `${above < 4 ? box.y + 18 : above}px`;
};
const hush = () => {
  told.hidden = true;
  for (const plot of plots) plot.over.setAttribute("visibility", "hidden");
};

// Plots: a single focusable element moves from point to point

class Plot {
  constructor(svg, frame, parameter) {
    this.svg = svg;
    this.frame = frame;
    this.places = data.places[parameter];
    const heights = data.heights;
    this.here = everyone.filter((one) => heights[one] !== null && this.places[one] !== null);
    this.across = [...this.here].sort((a, b) => this.places[a] - this.places[b] || a - b);
    this.upwards = [...this.here].sort((a, b) => heights[a] - heights[b] || b - a);
    this.over = draw("circle", { class: "ww-over", r: 7, visibility: "hidden" });
    this.ring = draw("circle", { class: "ww-ring", r: 7, visibility: "hidden" });
    this.cursor = draw("circle", { class: "ww-cursor", r: 11, tabindex: 0, role: "button" });
    this.current = 0;
    svg.classList.add("ww-answers");
    svg.append(this.ring, this.over, ...(this.here.length ? [this.cursor] : []));
    if (this.here.length) this.place(this.here[0]);
    this.listen();
    plots.push(this);
  }

  x(one) {
    const [width, , left, , right] = this.frame;
    return left + ((width - left - right) * this.places[one]) / data.full;
  }

  y(one) {
    const [, height, , top, , bottom] = this.frame;
    return top + (height - top - bottom) * (1 - data.heights[one] / data.full);
  }

  move(circle, one) {
    circle.setAttribute("cx", this.x(one));
    circle.setAttribute("cy", this.y(one));
  }

  place(one) {
    this.current = one;
    this.move(this.cursor, one);
    const settings = data.names.map((each, column) => `${each} ${shown(one, column)}`).join(", ");
    const label = `#${one + 1}: ${data.measure} ${figure(data.value[one])}, ${settings}`;
    this.cursor.setAttribute("aria-label", label);
    this.cursor.setAttribute("aria-pressed", String(one === picked));
  }

  mark() {
    const drawn = this.here.includes(picked);
    this.ring.setAttribute("visibility", drawn ? "visible" : "hidden");
    if (!drawn) return;
    this.move(this.ring, picked);
    this.place(picked);
  }

  // Window coordinates of a point, and the point at window coordinates

  window() {
    const box = this.svg.getBoundingClientRect();
    return { left: box.x, top: box.y, scale: box.width / this.frame[0], width: box.width };
  }

  tell(one) {
    const { left, top, scale, width } = this.window();
    const [x, y] = [left + this.x(one) * scale, top + this.y(one) * scale];
    tell(one, { x, y, middle: left + width / 2 });
  }

  nearest(event) {
    const { left, top, scale } = this.window();
    const [x, y] = [(event.clientX - left) / scale, (event.clientY - top) / scale];
    let found = null;
    let least = NEAR / scale;
    for (const one of this.here) {
      const distance = Math.hypot(this.x(one) - x, this.y(one) - y);
      if (distance < least) [found, least] = [one, distance]; // of equally near points, the best setting
    }
    return found;
  }

  // The point that an arrow key, Home or End leads to; null for other keys

  next(key) {
    const step = (order, by) => {
      const to = order.indexOf(this.current) + by;
      return order[Math.min(Math.max(to, 0), order.length - 1)];
    };
    if (key === "ArrowRight") return step(this.across, 1);
    if (key === "ArrowLeft") return step(this.across, -1);
    if (key === "ArrowUp") return step(this.upwards, 1);
    if (key === "ArrowDown") return step(this.upwards, -1);
    if (key === "Home") return this.across[0];
    if (key === "End") return this.across[this.across.length - 1];
    return null;
  }

  press(event) {
    const next = this.next(event.key);
    if (next !== null) {
      this.place(next);
      this.tell(next);
    } else if (event.key === "Enter" || event.key === " ") pick(this.current);
    else return;
    event.preventDefault();
  }

  point(event) {
    const one = this.nearest(event);
    if (one === null) return hush();
    this.move(this.over, one);
    this.over.setAttribute("visibility", "visible");
    this.tell(one);
  }

  tellFocused() {
    if (this.cursor.matches(":focus-visible")) this.tell(this.current);
  }

  listen() {
    this.cursor.addEventListener("keydown", (event) => this.press(event));
    this.cursor.addEventListener("focus", () => this.tellFocused());
    this.cursor.addEventListener("blur", hush);
    this.svg.addEventListener("pointermove", (event) => this.point(event));
    this.svg.addEventListener("pointerleave", hush);
    this.svg.addEventListener("click", (event) => {
      const one = this.nearest(event);
      if (one !== null) pick(one);
    });
  }
}

// The large plot

const pathOf = (plot, those, kind) => {
  const path = those.map((one) => `M${plot.x(one).toFixed(1)} ${plot.y(one).toFixed(1)}h0`);
  return draw("path", { d: path.join(""), class: `ww-dots ${kind}` });
};
const columnOf = (one, parameter) => {
  const columns = data.columns[parameter] ? data.ticks[parameter].length : RAMP.length;
  return Math.min(columns - 1, Math.floor((data.places[parameter][one] * columns) / data.full));
};
// Groups of settings of one colour: [common value, class, settings]
const groupsBy = (parameter) => {
  if (parameter === null) return [[null, "c1", everyone]];
  const groups = new Map();
  for (const one of everyone) {
    const column = columnOf(one, parameter);
    if (!groups.has(column)) groups.set(column, []);
    groups.get(column).push(one);
  }
  const ordered = typeof valueOf(0, parameter) === "number";
  return [...groups].sort((a, b) => a[0] - b[0]).map(([column, those], place, all) => {
    const step = Math.round((place * (RAMP.length - 1)) / Math.max(1, all.length - 1));
    const colour = ordered && all.length <= RAMP.length ? RAMP[step] : column % PALETTE;
    const numbers = those.map((one) => [valueOf(one, parameter), shown(one, parameter)]);
    numbers.sort((a, b) => a[0] - b[0]);
    const common = data.columns[parameter]
      ? data.ticks[parameter][column][1]
      : `${numbers[0][1]} – ${numbers[numbers.length - 1][1]}`;
    return [common, `c${colour}`, those];
  });
};
const heightLines = ([width, height, left, top, right, bottom]) =>
  data.heightTicks.flatMap(([place, text]) => {
    const y = top + (height - top - bottom) * (1 - place / data.full);
    const where = { x: left - 7, y: y + 4, "font-size": 12, "text-anchor": "end" };
    return [
      draw("line", { class: "ww-grid", x1: left, x2: width - right, y1: y, y2: y }),
      draw("text", where, text),
    ];
  });
const axisOf = ([width, height, left, , right, bottom], parameter) => {
  const [y, room] = [height - bottom, width - left - right];
  const parts = [draw("line", { class: "ww-axis", x1: left, x2: width - right, y1: y, y2: y })];
  const ticks = data.ticks[parameter];
  const columns = data.columns[parameter];
  const letters = Math.floor(room / ticks.length / 7);
  for (const [place, text] of columns && letters < 3 ? [] : ticks) {
    const cut = columns && text.length > letters;
    const x = left + (room * place) / data.full;
    const where = { x, y: y + 18, "font-size": 12, "text-anchor": "middle" };
    const clipped = cut ? `${text.slice(0, letters - 1)}…` : text;
    parts.push(draw("text", where, draw("title", {}, text), clipped));
  }
  const title = { class: "ww-title", "font-size": 13 };
  const middle = { ...title, x: left + room / 2, y: height - 4, "text-anchor": "middle" };
  parts.push(draw("text", middle, data.names[parameter]));
  parts.push(draw("text", { ...title, x: 0, y: 13 }, data.measure));
  return parts;
};
const dotsOf = (plot, groups, coloured) => {
  const dots = [];
  for (const kind of [false, true]) {
    for (const [, shade, those] of groups) {
      const drawn = those.filter((one) => complete[one] === kind && data.heights[one] !== null);
      const faint = coloured ? `${shade} ww-given-up` : "ww-faint";
      if (drawn.length) dots.push(pathOf(plot, drawn, kind ? shade : faint));
    }
  }
  if (data.heights[0] !== null) {
    const shift = `translate(${plot.x(0).toFixed(1)} ${plot.y(0).toFixed(1)}) scale(1.5)`;
    dots.push(draw("path", { class: "ww-best", d: data.star, transform: shift }));
  }
  return dots;
};
const drawLarge = () => {
  const parameter = Number(at("across").value);
  const colour = at("colour").value === "" ? null : Number(at("colour").value);
  const width = Math.max(280, at("large").clientWidth);
  const frame = [width, Math.min(420, Math.max(280, width * 0.6)), 48, 28, 8, 44];
  const old = plots.findIndex((plot) => plot.large);
  const focused = old >= 0 && document.activeElement === plots[old].cursor;
  if (old >= 0) plots.splice(old, 1);
  const label = `${data.measure} by ${data.names[parameter]}`;
  const size = { viewBox: `0 0 ${frame[0]} ${frame[1]}`, width, height: frame[1] };
  const svg = draw("svg", { ...size, role: "group", "aria-label": label });
  svg.append(...heightLines(frame), ...axisOf(frame, parameter));
  const plot = new Plot(svg, frame, parameter);
  const groups = groupsBy(colour);
  plot.large = true;
  plot.ring.before(...dotsOf(plot, groups, colour !== null));
  plot.ring.setAttribute("r", 10);
  plot.over.setAttribute("r", 10);
  at("large").replaceChildren(svg);
  at("legend").replaceChildren(...(colour === null ? [] : groups).map(([common, shade]) =>
    make("span", { class: shade }, make("i"), name(common))));
  plot.mark();
  if (focused) plot.cursor.focus();
};
