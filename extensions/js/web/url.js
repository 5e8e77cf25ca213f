// URL and URLSearchParams as in the URL standard. The server parses URLs; see url.go.
(function (web) {
  "use strict";
  const wellFormed = (value) => String(value).replace(/\p{Surrogate}/gu, "\ufffd");

  function decode(text) {
    text = text.replace(/\+/g, " ");
    if (!text.includes("%")) return text;
    try {
      return decodeURIComponent(text);
    } catch {
      // A part is not valid percent-encoded UTF-8: decode byte by byte.
      const encoded = new TextEncoder().encode(text);
      const bytes = [];
      for (let i = 0; i < encoded.length; i++) {
        const hex = encoded[i] === 0x25 ? String.fromCharCode(encoded[i + 1], encoded[i + 2]) : "";
        if (/^[0-9a-fA-F]{2}$/.test(hex)) {
          bytes.push(parseInt(hex, 16));
          i += 2;
        } else bytes.push(encoded[i]);
      }
      return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
    }
  }
  const encode = (text) => encodeURIComponent(text).replace(/[!'()~]/g, (char) => "%" + char.charCodeAt(0).toString(16).toUpperCase()).replace(/%20/g, "+");

  function parsePairs(text) {
    return text.split("&").filter((part) => part !== "").map((part) => {
      const at = part.indexOf("=");
      return at < 0 ? [decode(part), ""] : [decode(part.slice(0, at)), decode(part.slice(at + 1))];
    });
  }

  const link = Symbol("the URL the pairs belong to");
  class URLSearchParams {
    #pairs = [];
    #changed = () => {};
    constructor(init = "") {
      init ??= ""; // null, too, as in Node
      if (typeof init === "object" || typeof init === "function") {
        if (typeof init[Symbol.iterator] === "function") {
          for (const entry of init) {
            if (entry === null || typeof entry !== "object" || typeof entry[Symbol.iterator] !== "function") {
              throw new TypeError("Each query pair must be an iterable [name, value] tuple");
            }
            const pair = [...entry];
            if (pair.length !== 2) throw new TypeError("Each query pair must be an iterable [name, value] tuple");
            this.#pairs.push(pair.map(wellFormed));
          }
        } else {
          const record = new Map();
          for (const key of Reflect.ownKeys(init)) {
            if (!Object.getOwnPropertyDescriptor(init, key)?.enumerable) continue;
            if (typeof key === "symbol") throw new TypeError("Cannot convert a Symbol value to a string");
            record.set(wellFormed(key), wellFormed(init[key]));
          }
          this.#pairs = [...record];
        }
        return;
      }
      const text = wellFormed(init);
      this.#pairs = parsePairs(text.startsWith("?") ? text.slice(1) : text);
    }
    [link](pairs, changed) {
      this.#pairs = pairs;
      if (changed) this.#changed = changed;
    }
    get size() { return this.#pairs.length; }
    append(name, value) {
      if (arguments.length < 2) throw new TypeError('The "name" and "value" arguments must be specified');
      this.#pairs.push([wellFormed(name), wellFormed(value)]);
      this.#changed();
    }
    delete(name, value) {
      name = wellFormed(name);
      const all = value === undefined;
      if (!all) value = wellFormed(value);
      this.#pairs = this.#pairs.filter((pair) => pair[0] !== name || !(all || pair[1] === value));
      this.#changed();
    }
    get(name) {
      name = wellFormed(name);
      return this.#pairs.find((pair) => pair[0] === name)?.[1] ?? null;
    }
    getAll(name) {
      name = wellFormed(name);
      return this.#pairs.filter((pair) => pair[0] === name).map((pair) => pair[1]);
    }
    has(name, value) {
      name = wellFormed(name);
      return this.#pairs.some((pair) => pair[0] === name && (value === undefined || pair[1] === wellFormed(value)));
    }
    set(name, value) {
      if (arguments.length < 2) throw new TypeError('The "name" and "value" arguments must be specified');
      name = wellFormed(name);
      value = wellFormed(value);
      const first = this.#pairs.find((pair) => pair[0] === name);
      if (first) {
        first[1] = value;
        this.#pairs = this.#pairs.filter((pair) => pair === first || pair[0] !== name);
      } else this.#pairs.push([name, value]);
      this.#changed();
    }
    sort() {
      this.#pairs.sort((a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0));
      this.#changed();
    }
    forEach(callback, self) {
      if (typeof callback !== "function") throw new TypeError("forEach needs a function");
      for (const [name, value] of this) callback.call(self, value, name, this);
    }
    // By position, as in the standard: entries added during the iteration are seen.
    *entries() { for (let i = 0; i < this.#pairs.length; i++) yield [...this.#pairs[i]]; }
    *keys() { for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][0]; }
    *values() { for (let i = 0; i < this.#pairs.length; i++) yield this.#pairs[i][1]; }
    toString() { return this.#pairs.map(([name, value]) => encode(name) + "=" + encode(value)).join("&"); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
  }
  Object.defineProperty(URLSearchParams.prototype, Symbol.iterator, { value: URLSearchParams.prototype.entries, writable: true, configurable: true });

  const names = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];
  const ask = (...request) => web.host("url", JSON.stringify(request));
  const parse = (url, base) => ask("parse", String(url), base === undefined ? null : String(base));
  const invalid = (input) => Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: String(input) });

  class URL {
    #parts;
    #params;
    constructor(url, base) {
      if (arguments.length === 0) throw new TypeError('The "url" argument must be specified');
      this.#take(parse(url, base), url);
    }
    #take(answer, input) {
      if (answer === "") throw invalid(input);
      this.#parts = JSON.parse(answer);
      this.#params?.[link](parsePairs(this.search.slice(1)));
    }
    #get(name) { return this.#parts[names.indexOf(name)]; }
    #set(name, value) { this.#take(ask("set", this.href, name, String(value)), value); }
    get searchParams() {
      if (!this.#params) {
        this.#params = new URLSearchParams();
        this.#params[link](parsePairs(this.search.slice(1)), () => {
          // Not through #take: keep the pairs unchanged, even if the query encodes them differently.
          this.#parts = JSON.parse(ask("set", this.href, "search", this.#params.toString()));
        });
      }
      return this.#params;
    }
    toString() { return this.href; }
    toJSON() { return this.href; }
    get [Symbol.toStringTag]() { return "URL"; }
    static canParse(url, base) { return parse(url, base) !== ""; }
    static parse(url, base) { return URL.canParse(url, base) ? new URL(url, base) : null; }
    static {
      for (const name of names) {
        const get = Object.getOwnPropertyDescriptor({ get [name]() { return this.#get(name); } }, name).get;
        const set = name === "origin" ? undefined : function (value) { this.#set(name, value); };
        Object.defineProperty(this.prototype, name, { get, set, enumerable: true, configurable: true });
      }
    }
  }
  return { URL, URLSearchParams };
})
