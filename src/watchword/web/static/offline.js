// Explains texts with a model inside the page: a port of the C++ core for exported pages. No formula
// of the model is needed: every n-gram comes with its computed values, and reading is choosing
// n-grams and adding up values (docs/text.md, Algorithm 2). Numbers are doubles, added in the same
// order as in the core. A refined model adds up all n-grams of a text (src/core/refine.h), within
// rounding of the core.
"use strict";

const offline = (() => {
  // Character classes, in the order of `enum class CharClass` in src/core/unicode.h.
  const [BREAK, WORD, MARK, BLANK, LINE_END] = [0, 1, 2, 3, 4];
  const [APOSTROPHE, JOINER, TERMINATOR, WIDE_TERMINATOR, CLOSER] = [5, 6, 7, 8, 9];
  const CODE_POINTS = 0x110000;

  const UNKNOWN_ROW = 0; // the values of an unknown word

  // Symbols of a text that are not words of the model.
  const UNKNOWN_WORD = -1;
  const NO_WORD = -2; // a break: no n-gram crosses it
  const SENTENCE_END = -3;
  const PARAGRAPH_END = -4;

  // Hangul syllables decompose by arithmetic (Unicode, section 3.12).
  const SYLLABLES = { first: 0xac00, last: 0xd7a3, vowels: 21, tails: 28 };

  // Packed data

  function bytesOf(base64) {
    const packed = atob(base64);
    const bytes = new Uint8Array(packed.length);
    for (let at = 0; at < packed.length; ++at) bytes[at] = packed.charCodeAt(at);
    return bytes;
  }

  // Varints: seven bits per byte, lowest first; the highest bit continues.
  function wholesOf(base64, Kind = Uint32Array) {
    const bytes = bytesOf(base64);
    let size = 0;
    for (const byte of bytes) size += byte < 128;
    const wholes = new Kind(size);
    let filled = 0;
    let value = 0;
    let scale = 1;
    for (const byte of bytes) {
      value += (byte & 127) * scale;
      scale *= 128;
      if (byte >= 128) continue;
      wholes[filled++] = value;
      value = 0;
      scale = 1;
    }
    return wholes;
  }

  // Little-endian on every machine.
  function numbersOf(base64, Kind) {
    const view = new DataView(bytesOf(base64).buffer);
    const width = Kind.BYTES_PER_ELEMENT;
    const numbers = new Kind(view.byteLength / width);
    for (let at = 0; at < numbers.length; ++at) {
      const place = at * width;
      numbers[at] = width === 8 ? view.getFloat64(place, true) : view.getFloat32(place, true);
    }
    return numbers;
  }

  // The start of each group in a flat array, and the end of the last one.
  function startsOf(sizes) {
    const starts = new Uint32Array(sizes.length + 1);
    for (let at = 0; at < sizes.length; ++at) starts[at + 1] = starts[at] + sizes[at];
    return starts;
  }

  // Text

  // The class and folding of each character: the core's own table, of its Unicode version.
  class Characters {
    constructor({ runs, kinds, gaps, folded }) {
      this.kinds = new Uint8Array(CODE_POINTS);
      let start = 0;
      runs.forEach((run, at) => {
        this.kinds.fill(Number(kinds[at]), start, start + run);
        start += run;
      });
      this.folded = new Map();
      let point = 0;
      folded.split("\n").forEach((fold, at) => {
        point += gaps[at];
        this.folded.set(point, fold);
      });
    }

    fold(point) {
      const { first, last } = SYLLABLES;
      if (point >= first && point <= last) return syllable(point - first);
      return this.folded.get(point) ?? String.fromCodePoint(point);
    }
  }

  function syllable(index) {
    const { vowels, tails } = SYLLABLES;
    const tail = index % tails;
    const vowel = Math.floor(index / tails) % vowels;
    const lead = Math.floor(index / (tails * vowels));
    const parts = String.fromCodePoint(0x1100 + lead, 0x1161 + vowel);
    return tail === 0 ? parts : parts + String.fromCodePoint(0x11a7 + tail);
  }

  // The code points of a text, including lone surrogates.
  function pointsOf(text) {
    const points = new Uint32Array(text.length);
    let size = 0;
    for (let at = 0; at < text.length; ++size) {
      const point = text.codePointAt(at);
      points[size] = point;
      at += point > 0xffff ? 2 : 1;
    }
    return points.subarray(0, size);
  }

  // Splits a text into terms: a list of symbols, where words are strings, with their offsets. A port
  // of src/core/text.cpp.
  class TextReader {
    constructor(characters, paragraphs) {
      this.characters = characters;
      this.lineEnds = paragraphs === "lines" ? 1 : 2; // line ends that end a paragraph
    }

    read(text) {
      this.points = pointsOf(text);
      this.symbols = [];
      this.starts = [];
      this.ends = [];
      const size = this.points.length;
      for (let at = 0; at < size; ) {
        const kind = this.kindAt(at);
        if (kind === WORD) at = this.readWord(at);
        else if (this.points[at] === 32) ++at;
        else if (kind === BLANK || kind === LINE_END) at = this.readBlanks(at);
        else if (kind === TERMINATOR || kind === WIDE_TERMINATOR) at = this.readTerminator(at);
        else at = this.readBreak(at);
      }
      this.endParagraph();
      return { symbols: this.symbols, starts: this.starts, ends: this.ends };
    }

    // undefined after the end, which equals no class
    kindAt(at) {
      return this.characters.kinds[this.points[at]];
    }

    readWord(start) {
      let at = start;
      let word = "";
      for (; at < this.points.length; ++at) {
        const kind = this.kindAt(at);
        if (kind === WORD || kind === MARK) {
          word += this.characters.fold(this.points[at]);
        } else if (kind === APOSTROPHE && this.kindAt(at + 1) === WORD) {
          word += "'";
        } else if (kind === JOINER) {
          let next = at;
          while (this.kindAt(next) === JOINER) ++next;
          if (this.kindAt(next) !== WORD && this.kindAt(next) !== MARK) break;
          at = next - 1;
        } else {
          break;
        }
      }
      if (word === "") this.addBreak(start, at);
      else this.add(word, start, at);
      return at;
    }

    readBlanks(at) {
      let lineEnds = 0;
      for (; this.kindAt(at) === BLANK || this.kindAt(at) === LINE_END; ++at) {
        if (this.kindAt(at) === BLANK) continue;
        ++lineEnds;
        if (this.points[at] === 13 && this.points[at + 1] === 10) ++at;
      }
      if (lineEnds >= this.lineEnds) this.endParagraph();
      return at;
    }

    readTerminator(start) {
      let at = start;
      let wide = false;
      for (; this.kindAt(at) === TERMINATOR || this.kindAt(at) === WIDE_TERMINATOR; ++at) {
        wide ||= this.kindAt(at) === WIDE_TERMINATOR;
      }
      while (this.kindAt(at) === CLOSER || this.kindAt(at) === APOSTROPHE) ++at;
      this.addBreak(start, at);
      const next = this.kindAt(at);
      if (wide || next === undefined || next === BLANK || next === LINE_END) this.endSentence();
      return at;
    }

    readBreak(start) {
      let at = start;
      do ++at;
      while (this.kindAt(at) === BREAK || this.kindAt(at) === CLOSER);
      this.addBreak(start, at);
      return at;
    }

    get last() {
      return this.symbols[this.symbols.length - 1];
    }

    add(symbol, start, end) {
      this.symbols.push(symbol);
      this.starts.push(start);
      this.ends.push(end);
    }

    addBreak(start, end) {
      if (this.last === NO_WORD) this.ends[this.ends.length - 1] = end;
      else this.add(NO_WORD, start, end);
    }

    endSentence() {
      const nothingOpen = [undefined, SENTENCE_END, PARAGRAPH_END].includes(this.last);
      if (!nothingOpen) this.add(SENTENCE_END, 0, 0);
    }

    endParagraph() {
      const nothingOpen = [undefined, PARAGRAPH_END].includes(this.last);
      if (!nothingOpen) this.add(PARAGRAPH_END, 0, 0);
    }
  }

  // The model

  // Rows of values, shared by n-grams of equal counts. Row 0 is that of unknown words.
  class Rows {
    constructor(packed, labels) {
      this.labels = labels;
      this.starts = startsOf(wholesOf(packed.sizes));
      this.positions = wholesOf(packed.labels);
      this.counts = wholesOf(packed.counts, Float64Array);
      this.confidences = numbersOf(packed.cv, Float64Array);
      this.lv = numbersOf(packed.lv, Float32Array);
      this.sg = numbersOf(packed.sg, Float32Array);
      this.sn = numbersOf(packed.sn, Float32Array);
      this.elsewhere = numbersOf(packed.elsewhere, Float32Array); // sn for labels that are not in the row
      this.best = new Float64Array(this.starts.length - 1); // the highest value for any label
      for (let row = 0; row < this.best.length; ++row) {
        this.each(row, (entry) => {
          this.best[row] = Math.max(this.best[row], this.confidences[entry]);
        });
      }
      this.known = new Map();
    }

    each(row, visit) {
      for (let entry = this.starts[row]; entry < this.starts[row + 1]; ++entry) {
        visit(entry, this.positions[entry]);
      }
    }

    // For every label: the value if above alpha, else 0, and its factors.
    dense(row, alpha) {
      if (this.known.has(row)) return this.known.get(row);
      const all = (fill) => Array(this.labels).fill(fill);
      const dense = { value: all(0), count: all(0), lv: all(0), sg: all(0), sn: all(0) };
      dense.sn.fill(this.elsewhere[row]);
      this.each(row, (entry, label) => {
        if (this.confidences[entry] > alpha) dense.value[label] = this.confidences[entry];
        dense.count[label] = this.counts[entry];
        dense.lv[label] = this.lv[entry];
        dense.sg[label] = this.sg[entry];
        dense.sn[label] = this.sn[entry];
      });
      this.known.set(row, dense);
      return dense;
    }
  }

  // What a refined score needs: for each row, the weight of an n-gram that occurs once; for each level
  // and n-gram, the place of its corrections, which follow the labels of its row.
  class Fit {
    constructor(packed, levels, rows) {
      this.scale = packed.fit.scale;
      this.biases = packed.fit.biases;
      this.rarity = numbersOf(packed.fit.rarity, Float64Array);
      this.levels = levels.map((level, at) => ({
        starts: startsOf(level.rows.map((row) => rows.starts[row + 1] - rows.starts[row])),
        corrections: numbersOf(packed.levels[at].weights, Float32Array),
      }));
    }
  }

  // The n-grams of one length, sorted by their words, so that a parent's children are adjacent.
  function levelOf(packed, parentStarts) {
    const level = { rows: wholesOf(packed.rows), words: null, children: null };
    if (packed.children !== undefined) level.children = startsOf(wholesOf(packed.children));
    if (parentStarts === undefined) return level;
    level.words = wholesOf(packed.words); // the last word; for all but the first child, as a difference
    for (let parent = 0; parent + 1 < parentStarts.length; ++parent) {
      for (let at = parentStarts[parent] + 1; at < parentStarts[parent + 1]; ++at) {
        level.words[at] += level.words[at - 1];
      }
    }
    return level;
  }

  class Model {
    constructor(packed, characters) {
      this.labels = packed.labels;
      this.defaultLabel = packed.default_label;
      this.summary = packed.summary;
      this.alpha = packed.alpha;
      this.wordsSum = packed.reading === "words_sum";
      this.reader = new TextReader(new Characters(characters), packed.paragraphs);
      this.words = packed.words === "" ? [] : packed.words.split("\n");
      this.ids = new Map(this.words.map((word, id) => [word, id]));
      this.rows = new Rows(packed.rows, this.labels.length);
      this.levels = [];
      for (const level of packed.levels) {
        this.levels.push(levelOf(level, this.levels[this.levels.length - 1]?.children));
      }
      this.fit = packed.fit === undefined ? null : new Fit(packed, this.levels, this.rows);
    }

    // The index, among n-grams one word longer, of this n-gram followed by the word; or -1.
    child(length, ngram, word) {
      const { children } = this.levels[length - 1];
      const { words } = this.levels[length];
      let low = children[ngram];
      let high = children[ngram + 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (words[middle] < word) low = middle + 1;
        else high = middle;
      }
      return low < children[ngram + 1] && words[low] === word ? low : -1;
    }

    // Algorithm 2: choose the n-gram that starts at a word. A port of src/core/parse.cpp.

    choose(ids, at) {
      const { best } = this.rows;
      const path = [this.levels[0].rows[ids[at]]]; // the rows of the n-grams along the way
      let chosen = { length: 1, row: path[0] };
      let highest = Math.max(best[chosen.row], this.alpha); // values up to alpha count 0
      let ngram = ids[at];
      for (let length = 1; length < this.levels.length && ids[at + length] >= 0; ++length) {
        ngram = this.child(length, ngram, ids[at + length]);
        if (ngram < 0) break;
        const row = this.levels[length].rows[ngram];
        path.push(row);
        if (best[row] < highest) continue;
        if (best[row] === highest && !this.precedes(row, chosen.row)) continue;
        highest = best[row];
        chosen = { length: length + 1, row };
      }
      const isContested = this.wordsSum && chosen.length > 1;
      if (!isContested || !this.wordsOutweigh(ids, at, path, highest)) return chosen;
      return { length: 1, row: path[0] };
    }

    // PySS3's rule for n-grams of equal value: the first label with this value decides.
    precedes(row, other) {
      if (!this.wordsSum || this.rows.best[row] <= this.alpha) return false;
      return this.bestLabel(row) < this.bestLabel(other);
    }

    bestLabel(row) {
      let first = this.labels.length;
      this.rows.each(row, (entry, label) => {
        if (this.rows.confidences[entry] === this.rows.best[row]) first = Math.min(first, label);
      });
      return first;
    }

    // Whether for some label the values of the words along the path add up to more than the best
    // n-gram's value.
    wordsOutweigh(ids, at, path, best) {
      const sums = new Float64Array(this.labels.length);
      const word = new Float64Array(this.labels.length);
      let outweighed = false;
      path.forEach((prefix, step) => {
        word.fill(0);
        const row = this.levels[0].rows[ids[at + step]];
        this.rows.each(row, (entry, label) => (word[label] = this.rows.confidences[entry]));
        this.rows.each(prefix, (_, label) => {
          sums[label] += word[label];
          outweighed ||= sums[label] > best;
        });
      });
      return outweighed;
    }

    // Explain a text: the same data as Explanation.to_dict() in Python.
    explain(text) {
      const terms = this.reader.read(text);
      const ids = Int32Array.from(terms.symbols, (symbol) =>
        typeof symbol === "string" ? (this.ids.get(symbol) ?? UNKNOWN_WORD) : symbol,
      );
      const score = this.fit && this.scoreOf(ids, terms.symbols);
      const blocks = this.blocksOf(terms, ids, score);
      const { document, paragraph, sentence } = this.summary;
      const value = score?.value ?? summarise(blocks, document, this.labels.length);
      const whole = { counts: Array(this.labels.length).fill(1), divisor: 1 };
      share(blocks, value, whole, [document, paragraph, sentence]);
      const highest = value.indexOf(Math.max(...value));
      const label = this.labels[value.some((own) => own !== 0) ? highest : this.defaultLabel];
      const refined = score && { bias: score.bias, ngrams: score.ngrams };
      return { text, labels: this.labels, label, value, summary: this.summary, blocks, ...refined };
    }

    // The refined score of a text: bias, what each n-gram adds, and the shares of every word in that.
    scoreOf(ids, symbols) {
      const found = this.featuresOf(ids);
      const labels = this.labels.length;
      const weighed = found.map(({ row, places: { length } }) => (1 + Math.log(length)) * this.fit.rarity[row]);
      const norm = Math.sqrt(weighed.reduce((sum, weight) => sum + weight * weight, 0));
      const bias = found.length ? [...this.fit.biases] : Array(labels).fill(0);
      const value = [...bias];
      const words = new Map(); // place → the shares of the word there
      const ngrams = found.map((feature, at) => {
        const weight = weighed[at] / norm;
        const { counted, corrected } = this.partsOf(feature, weight);
        const { length, places } = feature;
        const parts = length * places.length;
        for (const place of places) {
          for (let word = place; word < place + length; ++word) {
            if (!words.has(word)) words.set(word, zeroParts(labels));
            addParts(words.get(word), counted, corrected, parts);
          }
        }
        for (let label = 0; label < labels; ++label) value[label] += counted[label] + corrected[label];
        const ngram = symbols.slice(places[0], places[0] + length).join(" ");
        return { ngram, times: places.length, weight, counted, corrected };
      });
      return { bias, value, ngrams, words };
    }

    // The known n-grams of a text, overlapping ones included, in the order of their first occurrence.
    featuresOf(ids) {
      const found = this.levels.map(() => new Map());
      const features = [];
      const visit = (length, ngram, place) => {
        const row = this.levels[length - 1].rows[ngram];
        if (this.rows.starts[row] === this.rows.starts[row + 1]) return; // without counts
        if (!found[length - 1].has(ngram)) {
          found[length - 1].set(ngram, { length, ngram, row, places: [] });
          features.push(found[length - 1].get(ngram));
        }
        found[length - 1].get(ngram).places.push(place);
      };
      ids.forEach((word, place) => {
        if (word < 0) return;
        visit(1, word, place);
        let ngram = word;
        for (let length = 1; length < this.levels.length && ids[place + length] >= 0; ++length) {
          ngram = this.child(length, ngram, ids[place + length]);
          if (ngram < 0) break;
          visit(length + 1, ngram, place);
        }
      });
      return features;
    }

    // What an n-gram of this weight adds to the score: by its counted value, centred, and corrected.
    partsOf({ length, ngram, row }, weight) {
      const { starts, corrections } = this.fit.levels[length - 1];
      const { value } = this.rows.dense(row, this.alpha);
      const mean = value.reduce((sum, own) => sum + own, 0) / this.labels.length;
      const counted = value.map((own) => this.fit.scale * weight * (own - mean));
      const corrected = Array(this.labels.length).fill(0);
      const offset = starts[ngram] - this.rows.starts[row];
      this.rows.each(row, (entry, label) => (corrected[label] = weight * corrections[entry + offset]));
      return { counted, corrected };
    }

    // Paragraphs of sentences of n-grams with their values; parts without words are no blocks.
    blocksOf({ symbols, starts, ends }, ids, score) {
      const paragraphs = new Blocks("paragraph", this.summary.paragraph, this.labels.length);
      const sentences = new Blocks("sentence", this.summary.sentence, this.labels.length);
      for (let at = 0; at < ids.length; ) {
        if (ids[at] >= UNKNOWN_WORD) {
          const known = ids[at] !== UNKNOWN_WORD;
          const { length, row } = known ? this.choose(ids, at) : { length: 1, row: UNKNOWN_ROW };
          const place = { start: starts[at], end: ends[at + length - 1] };
          const block = this.ngramBlock(symbols.slice(at, at + length), row, place);
          sentences.hold(score ? { ...block, ...this.refinedParts(score, at, length) } : block);
          sentences.reach(place.start, place.end);
          at += length;
          continue;
        }
        if (ids[at] === NO_WORD) sentences.reach(starts[at], ends[at]);
        else sentences.close((sentence) => paragraphs.hold(sentence), paragraphs);
        if (ids[at] === PARAGRAPH_END) paragraphs.close();
        ++at;
      }
      return paragraphs.closed;
    }

    ngramBlock(words, row, place) {
      const { value, ...parts } = this.rows.dense(row, this.alpha);
      const ngram = words.join(" ");
      return { kind: "ngram", ...place, value, contribution: null, ngram, ...parts };
    }

    // The value of a block in a refined model: what its words have.
    refinedParts({ words }, at, length) {
      const total = zeroParts(this.labels.length);
      for (let word = at; word < at + length; ++word) {
        if (words.has(word)) addParts(total, words.get(word).counted, words.get(word).corrected, 1);
      }
      const { counted, corrected } = total;
      return { value: counted.map((own, label) => own + corrected[label]), counted, corrected };
    }
  }

  const zeroParts = (labels) => ({ counted: Array(labels).fill(0), corrected: Array(labels).fill(0) });

  function addParts(total, counted, corrected, divisor) {
    for (let label = 0; label < counted.length; ++label) {
      total.counted[label] += counted[label] / divisor;
      total.corrected[label] += corrected[label] / divisor;
    }
  }

  // Collects the parts of one block after another. Breaks at its edges belong to it.
  class Blocks {
    constructor(kind, operator, labels) {
      Object.assign(this, { kind, operator, labels, closed: [] });
      this.open();
    }

    open() {
      this.parts = [];
      this.start = undefined;
      this.end = 0;
    }

    hold(part) {
      this.parts.push(part);
    }

    reach(start, end) {
      this.start ??= start;
      this.end = end;
    }

    close(pass = (block) => this.closed.push(block), outer = undefined) {
      if (this.start !== undefined) outer?.reach(this.start, this.end);
      if (this.parts.length > 0) {
        const { kind, start, end, parts: blocks } = this;
        const value = summarise(blocks, this.operator, this.labels);
        pass({ kind, start, end, value, contribution: null, blocks });
      }
      this.open();
    }
  }

  // Summarise the vectors of several blocks. A port of src/core/summary.cpp.
  function summarise(blocks, operator, labels) {
    const total = Array(labels).fill(0);
    const add = operator === "max" ? Math.max : (sum, part) => sum + part;
    for (const { value } of blocks) {
      for (let label = 0; label < labels; ++label) total[label] = add(total[label], value[label]);
    }
    const divided = operator === "mean" && blocks.length > 1;
    return divided ? total.map((sum) => sum / blocks.length) : total;
  }

  // Set the contribution of every block to the document's value: value / divisor where it counts.
  // With the maximum, only the first block that attains it counts; with the mean, all blocks do.
  function share(blocks, whole, given, [operator, ...inner]) {
    const divisor = operator === "mean" ? given.divisor * blocks.length : given.divisor;
    const attains = (label) => blocks.findIndex(({ value }) => value[label] === whole[label]);
    const first = operator === "max" ? whole.map((_, label) => attains(label)) : null;
    blocks.forEach((block, at) => {
      const isCounted = (own, label) => (first === null || first[label] === at ? own : 0);
      const counts = given.counts.map(isCounted);
      const isWhole = divisor === 1 && counts.every((own) => own === 1);
      block.contribution = isWhole
        ? block.value
        : block.value.map((value, label) => (value / divisor) * counts[label]);
      if (inner.length > 0) share(block.blocks, block.value, { counts, divisor }, inner);
    });
  }

  // Compute how strongly blocks are painted, by the same rule as Rules in show/blocks.py: by their
  // contributions, on one scale for all labels.
  function paint(explanation) {
    for (const level of ["paragraph", "sentence", "ngram"]) {
      const blocks = watchword.blocksOf(explanation, level);
      const highest = blocks.reduce((most, block) => Math.max(most, ...block.contribution), 0);
      const share = (part) => (part > 0 ? watchword.rounded(part / highest, 4) : 0);
      for (const block of blocks) {
        block.share = block.contribution.map(share);
        block.speaks = spokenFor(block.share);
      }
    }
    return explanation;
  }

  // Return the column of the largest share; null if no share is above 0 or two are the largest.
  function spokenFor(shares) {
    const highest = Math.max(0, ...shares);
    const column = shares.indexOf(highest);
    return highest > 0 && shares.indexOf(highest, column + 1) < 0 ? column : null;
  }

  return { Model, paint };
})();
