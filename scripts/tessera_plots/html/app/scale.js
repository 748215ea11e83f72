// Colours of shares that come as codes of one byte: 0 for none, 1 to 255 over five decades.
"use strict";

const LEAST_SHARE = 0.01; // of what is drawn, below the logarithmic scale
const CODES_OF_TWO = Math.ceil(Math.log10(2) / 5 * 254);

function shareOfCode(code) {
  return code ? 10 ** (5 * ((code - 1) / 254 - 1)) : 0;
}

// One scale for all maps of a page: where on it each code lies.
class Scale {
  constructor(maps) {
    this.counts = new Float64Array(256);
    for (const map of maps) {
      for (const frame of map.frames) for (const code of frame) this.counts[code]++;
    }
    this.used = [...this.counts.keys()].filter((code) => code && this.counts[code]);
    this.low = this.used.length ? this.used[0] : 1;
    this.high = this.used.length ? this.used[this.used.length - 1] : 255;
    this.total = this.used.reduce((sum, code) => sum + this.counts[code], 0);
    this.first = this.firstOfLogarithm();
    this.choose("logarithmic");
  }

  // The code of the first percentile, and at least a factor of two below the highest.
  firstOfLogarithm() {
    let passed = 0;
    const found = this.used.find((code) => {
      passed += this.counts[code];
      return passed > LEAST_SHARE * this.total;
    });
    return Math.max(1, Math.min(found || this.low, this.high - CODES_OF_TWO));
  }

  // What a reader must know of the colours beside the bar.
  said() {
    if (this.kind !== "logarithmic" || !(this.low < this.first)) return "";
    const below = this.used.filter((code) => code < this.first).reduce((sum, code) => sum + this.counts[code], 0);
    return `Shares below ${format(shareOfCode(this.first), "share")}, ${format(below / this.total, "share")} of all, are drawn `
      + "as that.";
  }

  choose(kind) {
    this.kind = kind;
    this.place = new Float64Array(256).fill(-1);
    let below = 0;
    for (const code of this.used) {
      if (kind === "logarithmic") this.place[code] = Math.max(0, code - this.first) / (this.high - this.first);
      else if (kind === "linear") this.place[code] = shareOfCode(code) / shareOfCode(this.high);
      else this.place[code] = (below + this.counts[code] / 2) / this.total;
      below += this.counts[code];
    }
    this.paint();
  }

  paint() {
    this.colours = Array.from(this.place, (place) => (place < 0 ? null : scaleColour(place)));
    this.texts = this.colours.map((rgb) => rgb && `rgb(${rgb.join(",")})`);
  }

  // The bar of colours with what its places stand for.
  draw(context, width) {
    this.paint();
    const left = 8;
    const long = Math.min(width - 120, 520);
    for (let x = 0; x < long; x++) {
      context.fillStyle = `rgb(${scaleColour(x / (long - 1)).join(",")})`;
      context.fillRect(left + x, 4, 1.5, 14);
    }
    context.fillStyle = THEME.colour("text");
    for (let tick = 0; tick <= 4; tick++) {
      const text = this.textAt(tick / 4);
      const wide = context.measureText(text).width;
      const x = left + tick / 4 * long;
      context.fillRect(Math.min(x, left + long - 1), 18, 1, 4);
      context.fillText(text, Math.max(0, x - wide / 2), 34);
    }
  }

  textAt(place) {
    if (!this.used.length) return "0 %";
    if (this.kind === "linear") return format(place * shareOfCode(this.high), "share");
    if (this.kind === "logarithmic") {
      return format(shareOfCode(this.first + place * (this.high - this.first)), "share");
    }
    const code = this.used.find((one) => this.place[one] >= place) || this.high;
    return format(shareOfCode(code), "share");
  }
}
