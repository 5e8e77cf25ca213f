// TextEncoder and TextDecoder (UTF-8), atob and btoa as in the Encoding and HTML standards. Bytes pass to the server as base64, which
// the engine reads and writes itself. This file processes other input byte by byte, which is much slower.
(function (web) {
  "use strict";
  const fromBase64 = (text) => Uint8Array.fromBase64(text);
  const toBase64 = (bytes) => Uint8Array.prototype.toBase64.call(bytes);
  const utf8Labels = ["unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "utf-8", "utf8", "x-unicode20utf8"];

  // units converts code units to a string without an argument list that is too long for engines.
  function units(list) {
    let text = "";
    for (let i = 0; i < list.length; i += 8192) text += String.fromCharCode.apply(null, list.slice(i, i + 8192));
    return text;
  }

  function bytesOf(source, what) {
    if (source === undefined) return new Uint8Array(0);
    if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    if (source instanceof ArrayBuffer || source instanceof SharedArrayBuffer) return new Uint8Array(source);
    throw new TypeError(what + " needs an ArrayBuffer or a view on one");
  }

  // encodeTo writes text as UTF-8 while it fits; a lone surrogate becomes U+FFFD.
  function encodeTo(text, target) {
    let read = 0;
    let written = 0;
    while (read < text.length) {
      let point = text.codePointAt(read);
      const width = point > 0xffff ? 2 : 1;
      if (point >= 0xd800 && point <= 0xdfff) point = 0xfffd;
      const size = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
      if (written + size > target.length) break;
      if (size === 1) target[written++] = point;
      else {
        target[written++] = (size === 2 ? 0xc0 : size === 3 ? 0xe0 : 0xf0) | (point >> (6 * (size - 1)));
        for (let shift = 6 * (size - 2); shift >= 0; shift -= 6) target[written++] = 0x80 | ((point >> shift) & 0x3f);
      }
      read += width;
    }
    return { read, written };
  }

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") {
      return fromBase64(web.host("encode", String(text)));
    }
    encodeInto(text, target) {
      if (!(target instanceof Uint8Array)) throw new TypeError("encodeInto needs a Uint8Array");
      text = String(text);
      const bytes = this.encode(text);
      if (bytes.length > target.length) return encodeTo(text, target);
      target.set(bytes);
      return { read: text.length, written: bytes.length };
    }
    get [Symbol.toStringTag]() { return "TextEncoder"; }
  }

  class TextDecoder {
    #fatal;
    #ignoreBOM;
    #start() { return { point: 0, needed: 0, lower: 0x80, upper: 0xbf, first: true }; }
    #state = this.#start();
    constructor(label = "utf-8", options = {}) {
      const name = String(label).replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, "").toLowerCase();
      if (!utf8Labels.includes(name)) {
        throw new RangeError('The "' + label + '" encoding is not supported: embedded extensions have utf-8. ' + web.remedy);
      }
      this.#fatal = !!options?.fatal;
      this.#ignoreBOM = !!options?.ignoreBOM;
    }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input, options = {}) {
      const bytes = bytesOf(input, "decode");
      const own = this.#state;
      if (own.first && own.needed === 0 && !options?.stream) {
        const whole = web.host("decode", toBase64(bytes)); // "" for invalid UTF-8
        if (whole !== "") return whole.startsWith("\ufeff") && !this.#ignoreBOM ? whole.slice(1) : whole;
      }
      const out = [];
      const put = (point) => {
        const bom = own.first && point === 0xfeff && !this.#ignoreBOM;
        own.first = false;
        if (bom) return;
        if (point > 0xffff) out.push(0xd7c0 + (point >> 10), 0xdc00 + (point & 0x3ff));
        else out.push(point);
      };
      const bad = () => {
        Object.assign(own, { needed: 0, lower: 0x80, upper: 0xbf });
        if (this.#fatal) {
          this.#state = this.#start();
          throw Object.assign(new TypeError("The encoded data was not valid for encoding utf-8"), { code: "ERR_ENCODING_INVALID_ENCODED_DATA" });
        }
        put(0xfffd);
      };
      for (let i = 0; i < bytes.length; i++) {
        const byte = bytes[i];
        if (own.needed === 0) {
          if (byte < 0x80) put(byte);
          else if (byte >= 0xc2 && byte <= 0xdf) Object.assign(own, { needed: 1, point: byte & 0x1f });
          else if (byte >= 0xe0 && byte <= 0xef) {
            Object.assign(own, { needed: 2, point: byte & 0xf, lower: byte === 0xe0 ? 0xa0 : 0x80, upper: byte === 0xed ? 0x9f : 0xbf });
          } else if (byte >= 0xf0 && byte <= 0xf4) {
            Object.assign(own, { needed: 3, point: byte & 7, lower: byte === 0xf0 ? 0x90 : 0x80, upper: byte === 0xf4 ? 0x8f : 0xbf });
          } else bad();
          continue;
        }
        if (byte < own.lower || byte > own.upper) {
          bad();
          i--; // the byte may start the next character
          continue;
        }
        own.lower = 0x80;
        own.upper = 0xbf;
        own.point = (own.point << 6) | (byte & 0x3f);
        if (--own.needed === 0) put(own.point);
      }
      if (!options?.stream) {
        if (own.needed > 0) bad();
        this.#state = this.#start();
      }
      return units(out);
    }
    get [Symbol.toStringTag]() { return "TextDecoder"; }
  }

  const wrong = (message) => new DOMException(message, "InvalidCharacterError");

  function btoa(data) {
    if (arguments.length === 0) throw new TypeError("btoa needs a string");
    const text = String(data);
    if (/[^\0-\xff]/.test(text)) throw wrong("Invalid character");
    return web.host("btoa", text);
  }
  function atob(data) {
    if (arguments.length === 0) throw new TypeError("atob needs a string");
    let text = String(data).replace(/[\t\n\f\r ]/g, "");
    if (text.length % 4 === 0) text = text.replace(/={1,2}$/, "");
    if (text.length % 4 === 1 || /[^A-Za-z0-9+/]/.test(text)) throw wrong("The string to be decoded is not correctly encoded.");
    return units(fromBase64(text));
  }
  return { TextEncoder, TextDecoder, atob, btoa, bytesOf, fromBase64, toBase64 };
})
