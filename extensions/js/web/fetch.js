// fetch, Headers, Request and Response. The server sends the requests (fetch.go), only to declared hosts.
(function (web) {
  "use strict";
  const { fromBase64, toBase64, bytesOf } = web.part("text");
  const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

  class Headers {
    #list = []; // [lower case name, value]
    constructor(init) {
      if (init === undefined) return;
      if (init === null || typeof init !== "object") throw new TypeError("Headers needs pairs or a record");
      const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
      for (const entry of pairs) {
        const pair = [...entry];
        if (pair.length !== 2) throw new TypeError("a header is a pair of name and value");
        this.append(pair[0], pair[1]);
      }
    }
    #name(name) {
      name = String(name);
      if (!token.test(name)) throw new TypeError('"' + name + '" is an invalid header name.');
      return name.toLowerCase();
    }
    #value(value) {
      value = String(value).replace(/^[\t\n\r ]+|[\t\n\r ]+$/g, "");
      if (/[\0\n\r]|[^\0-\xff]/.test(value)) throw new TypeError("a header has an invalid value.");
      return value;
    }
    append(name, value) { this.#list.push([this.#name(name), this.#value(value)]); }
    delete(name) {
      name = this.#name(name);
      this.#list = this.#list.filter((one) => one[0] !== name);
    }
    get(name) {
      name = this.#name(name);
      const values = this.#list.filter((one) => one[0] === name).map((one) => one[1]);
      return values.length === 0 ? null : values.join(", ");
    }
    getSetCookie() { return this.#list.filter((one) => one[0] === "set-cookie").map((one) => one[1]); }
    has(name) {
      name = this.#name(name);
      return this.#list.some((one) => one[0] === name);
    }
    set(name, value) {
      value = this.#value(value);
      this.delete(name);
      this.append(name, value);
    }
    forEach(callback, self) { for (const [name, value] of this) callback.call(self, value, name, this); }
    *entries() {
      for (const name of [...new Set(this.#list.map((one) => one[0]))].sort()) {
        if (name === "set-cookie") for (const value of this.getSetCookie()) yield [name, value];
        else yield [name, this.get(name)];
      }
    }
    *keys() { for (const [name] of this.entries()) yield name; }
    *values() { for (const [, value] of this.entries()) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "Headers"; }
  }

  // Body is the shared part of requests and responses. Its content is a string or bytes, as the caller passed it.
  const take = Symbol("the content, not yet used");
  class Body {
    #content;
    #used = false;
    constructor(init, headers) {
      let type;
      if (init === null || init === undefined) this.#content = null;
      else if (init instanceof ArrayBuffer || ArrayBuffer.isView(init)) this.#content = bytesOf(init, "a body").slice();
      else {
        type = init instanceof URLSearchParams ? "application/x-www-form-urlencoded;charset=UTF-8" : "text/plain;charset=UTF-8";
        this.#content = String(init);
      }
      if (type && !headers.has("content-type")) headers.set("content-type", type);
    }
    get bodyUsed() { return this.#used; }
    get body() {
      if (this.#content === null) return null;
      throw new TypeError("body is a stream, which embedded extensions do not have: use text(), json() or arrayBuffer(). " + web.remedy);
    }
    [take](use) {
      if (this.#used) throw new TypeError("Body is unusable: Body has already been read");
      this.#used = use && this.#content !== null;
      return this.#content;
    }
    async bytes() {
      const content = this[take](true);
      return typeof content === "string" ? new TextEncoder().encode(content) : (content ?? new Uint8Array(0));
    }
    async arrayBuffer() { return (await this.bytes()).buffer; }
    async text() {
      const content = this[take](true);
      if (typeof content === "string") return content.startsWith("\ufeff") ? content.slice(1) : content;
      return new TextDecoder().decode(content ?? undefined);
    }
    async json() { return JSON.parse(await this.text()); }
    async blob() { throw new TypeError("Blob is not there in embedded extensions. " + web.remedy); }
    async formData() { throw new TypeError("FormData is not there in embedded extensions. " + web.remedy); }
  }

  const redirects = ["follow", "error", "manual"];
  class Request extends Body {
    #fixed;
    constructor(input, init = {}) {
      const from = input instanceof Request ? input : null;
      const headers = new Headers(init?.headers ?? from?.headers);
      const body = init?.body ?? (from ? from[take](true) : null);
      super(body, headers);
      const url = new URL(from ? from.url : input);
      if (url.username || url.password) throw new TypeError("Request cannot be constructed from a URL that includes credentials: " + url);
      let method = String(init?.method ?? from?.method ?? "GET");
      if (!token.test(method)) throw new TypeError("'" + method + "' is not a valid HTTP method.");
      if (/^(connect|trace|track)$/i.test(method)) throw new TypeError("'" + method + "' HTTP method is unsupported.");
      if (/^(delete|get|head|options|post|put)$/i.test(method)) method = method.toUpperCase();
      if (body !== null && /^(GET|HEAD)$/.test(method)) throw new TypeError("Request with GET/HEAD method cannot have body.");
      const redirect = init?.redirect ?? from?.redirect ?? "follow";
      if (!redirects.includes(redirect)) throw new TypeError("redirect is one of " + redirects.join(", "));
      const signal = init?.signal ?? from?.signal ?? new AbortController().signal;
      if (!(signal instanceof AbortSignal)) throw new TypeError("signal is no AbortSignal");
      this.#fixed = { method, headers, redirect, signal, url: url.href };
    }
    get method() { return this.#fixed.method; }
    get url() { return this.#fixed.url; }
    get headers() { return this.#fixed.headers; }
    get redirect() { return this.#fixed.redirect; }
    get signal() { return this.#fixed.signal; }
    clone() { return new Request(this.url, { ...this.#fixed, body: this[take](false) }); }
    get [Symbol.toStringTag]() { return "Request"; }
  }

  class Response extends Body {
    #fixed;
    constructor(body, init = {}) {
      const status = Number(init?.status ?? 200);
      if (!Number.isInteger(status) || status < 200 || status > 599) throw new RangeError("status is between 200 and 599");
      if (body !== null && body !== undefined && [204, 205, 304].includes(status)) throw new TypeError("Response with status " + status + " has no body");
      const headers = new Headers(init?.headers);
      super(body, headers);
      this.#fixed = { status, statusText: String(init?.statusText ?? ""), headers, url: "", redirected: false, type: "default" };
    }
    static received(answer) {
      const empty = [204, 205, 304].includes(answer.status);
      const response = new Response(empty ? null : (answer.text ?? fromBase64(answer.base64)), { ...answer, headers: [] });
      Object.assign(response.#fixed, { headers: new Headers(answer.headers), url: answer.url, redirected: answer.redirected, type: "basic" });
      return response;
    }
    static error() {
      const response = new Response(null);
      Object.assign(response.#fixed, { status: 0, type: "error" });
      return response;
    }
    static json(data, init = {}) {
      const headers = new Headers(init?.headers);
      if (!headers.has("content-type")) headers.set("content-type", "application/json");
      return new Response(JSON.stringify(data), { ...init, headers });
    }
    static redirect(url, status = 302) {
      if (![301, 302, 303, 307, 308].includes(status)) throw new RangeError("Invalid status code " + status);
      return new Response(null, { status, headers: { location: new URL(url).href } });
    }
    get status() { return this.#fixed.status; }
    get statusText() { return this.#fixed.statusText; }
    get ok() { return this.status >= 200 && this.status <= 299; }
    get headers() { return this.#fixed.headers; }
    get url() { return this.#fixed.url; }
    get redirected() { return this.#fixed.redirected; }
    get type() { return this.#fixed.type; }
    clone() {
      const response = new Response(this[take](false));
      response.#fixed = { ...this.#fixed, headers: new Headers(this.headers) };
      return response;
    }
    get [Symbol.toStringTag]() { return "Response"; }
  }
  const received = Response.received;
  delete Response.received;

  async function fetch(input, init) {
    if (!web.limits.fetch) throw new TypeError(web.limits.fetchAdvice);
    const request = new Request(input, init);
    request.signal.throwIfAborted();
    const content = request[take](true);
    const call = web.call("fetch", [{
      url: request.url, method: request.method, redirect: request.redirect, headers: [...request.headers],
      ...(typeof content === "string" ? { text: content } : content ? { base64: toBase64(content) } : {}),
    }]);
    const cancel = () => call.abandon(request.signal.reason);
    request.signal.addEventListener("abort", cancel, { once: true });
    try {
      return received(await call.answer);
    } catch (error) {
      throw error instanceof Error && error.message.startsWith("fetch failed") ? new TypeError(error.message) : error;
    } finally {
      request.signal.removeEventListener("abort", cancel);
    }
  }
  return { fetch, Headers, Request, Response };
})
