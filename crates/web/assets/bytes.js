// Bytes and numbers as people read them.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

export function formatBytes(bytes) {
  if (bytes === null || bytes === undefined) return "unknown";
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${UNITS[unit]}`;
}

export function formatCount(count) {
  if (count === null || count === undefined) return "unknown";
  return Math.round(count).toLocaleString("en-US");
}

export function counted(count, singular, plural = `${singular}s`) {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

export function formatPercent(share, digits = 1) {
  if (share === null || share === undefined || Number.isNaN(share)) return "unknown";
  return `${(100 * share).toFixed(digits)} %`;
}

// A false-positive rate: small ones as a percentage with two significant digits, and "1 in n".
export function formatRate(rate) {
  if (rate === null || rate === undefined) return "unknown";
  if (rate === 0) return "0";
  const percent = 100 * rate;
  const text = percent >= 10 ? percent.toFixed(1) : percent.toPrecision(2);
  return rate >= 0.5 ? `${text} %` : `${text} % (1 in ${formatCount(1 / rate)})`;
}

export function formatMicros(micros) {
  return micros < 1000 ? `${micros} µs` : `${(micros / 1000).toFixed(micros < 10000 ? 2 : 1)} ms`;
}

export function formatTime(seconds) {
  if (!seconds) return "unknown";
  return new Date(1000 * seconds).toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC");
}

export function fromHex(hex) {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i += 1) bytes[i] = parseInt(hex.substr(2 * i, 2), 16);
  return bytes;
}

export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Printable ASCII as it is, `\\` for the backslash, `\xHH` for the rest: the command's escape form.
export function escapeBytes(bytes) {
  let text = "";
  for (const byte of bytes) {
    if (byte === 0x5c) text += "\\\\";
    else if (byte >= 0x20 && byte <= 0x7e) text += String.fromCharCode(byte);
    else text += `\\x${byte.toString(16).padStart(2, "0")}`;
  }
  return text;
}

// The bytes of a key in an address or a field, in an encoding of the server; null if it is wrong.
export function decodeBytes(text, encoding = "escape") {
  if (encoding === "hex") return /^([0-9a-f]{2})*$/i.test(text) ? fromHex(text) : null;
  if (encoding === "base64") {
    try {
      return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    } catch {
      return null;
    }
  }
  const bytes = [];
  for (const [part, digits, backslash] of text.matchAll(/\\x([0-9a-f]{2})|(\\\\)|[^]/giu)) {
    if (digits) bytes.push(parseInt(digits, 16));
    else if (backslash) bytes.push(0x5c);
    else bytes.push(...new TextEncoder().encode(part));
  }
  return Uint8Array.from(bytes);
}

// UTF-8, or null if the bytes are none.
export function asText(bytes) {
  try {
    // A byte order mark is part of the value.
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

// JSON, indented, or null. Its tokens stay as they are: a parsed number may not be the same number.
export function asJson(bytes) {
  const text = asText(bytes);
  if (text === null) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
  let [out, depth] = ["", 0];
  const line = () => `\n${"  ".repeat(depth)}`;
  tokens.forEach((token, at) => {
    if (token === "{" || token === "[") {
      depth += 1;
      out += ["}", "]"].includes(tokens[at + 1]) ? token : token + line();
    } else if (token === "}" || token === "]") {
      depth -= 1;
      out += ["{", "["].includes(tokens[at - 1]) ? token : line() + token;
    } else if (token === ",") out += token + line();
    else out += token === ":" ? ": " : token;
  });
  return out;
}

// What the bytes are as numbers: pairs of a name and a value.
export function asNumbers(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const numbers = [];
  const add = (name, value) => numbers.push([name, String(value)]);
  if (bytes.length === 1) add("u8", bytes[0]);
  if (bytes.length === 2) {
    add("u16 little-endian", view.getUint16(0, true));
    add("u16 big-endian", view.getUint16(0, false));
  }
  if (bytes.length === 4) {
    add("u32 little-endian", view.getUint32(0, true));
    add("u32 big-endian", view.getUint32(0, false));
    add("f32 little-endian", view.getFloat32(0, true));
  }
  if (bytes.length === 8) {
    add("u64 little-endian", view.getBigUint64(0, true));
    add("u64 big-endian", view.getBigUint64(0, false));
    add("i64 little-endian", view.getBigInt64(0, true));
    add("f64 little-endian", view.getFloat64(0, true));
  }
  const varint = asVarint(bytes);
  if (varint !== null) add("varint", varint);
  const text = bytes.length <= 20 ? asText(bytes) : null;
  if (text !== null && /^-?\d+$/.test(text)) add("decimal", BigInt(text));
  return numbers;
}

function asVarint(bytes) {
  if (bytes.length === 0 || bytes.length > 10) return null;
  let value = 0n;
  for (let i = 0; i < bytes.length; i += 1) {
    value |= BigInt(bytes[i] & 0x7f) << BigInt(7 * i);
    const isLast = i === bytes.length - 1;
    if (((bytes[i] & 0x80) === 0) !== isLast) return null;
  }
  return value;
}

// The last part of a path.
export function shortName(path) {
  return path.split("/").findLast((part) => part !== "") ?? path;
}

// The first characters of a long text.
export function shorten(text, length = 48) {
  return text.length > length ? `${text.slice(0, length - 1)}…` : text;
}

// The bits of bytes in hexadecimal digits, the lowest bit of each first.
export function bitsOf(hex) {
  return Array.from(fromHex(hex)).flatMap((byte) => [0, 1, 2, 3, 4, 5, 6, 7].map((bit) => (byte >> bit) & 1));
}
