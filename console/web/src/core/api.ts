// REST, relative to where the page is served.

/** An answer that is no success. `body` is the server's envelope, {} when it sent none. */
export class ApiError extends Error {
  constructor(readonly status: number, readonly body: Record<string, unknown>, path: string) {
    super(typeof body.message === "string" ? body.message : `${path} answered ${status}`);
  }
  get code(): string {
    return typeof this.body.code === "string" ? this.body.code : String(this.body.status ?? "");
  }
  /** Whether the server wants another token. auth_required is a 401, too: an agent's own login is missing. */
  get unauthorized(): boolean {
    return this.status === 401 && this.code !== "auth_required";
  }
  /** Whether the same may be answered otherwise in a moment. */
  get passing(): boolean {
    return this.status >= 500;
  }
}

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

export class Api {
  /** Called when the server wants a login. */
  onLogin: () => void = () => {};

  constructor(readonly base: string, private readonly send: Fetch = (input, init) => fetch(input, init)) {}

  url(path: string): string {
    return new URL(path.replace(/^\//, ""), this.base).toString();
  }

  async get<T>(path: string): Promise<T> {
    return this.call<T>("GET", path);
  }

  async post<T>(path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    return this.call<T>("POST", path, body ?? {}, headers);
  }

  async patch<T>(path: string, body: unknown): Promise<T> {
    return this.call<T>("PATCH", path, body);
  }

  async delete<T>(path: string): Promise<T> {
    return this.call<T>("DELETE", path);
  }

  private async call<T>(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<T> {
    const response = await this.send(this.url(path), {
      method,
      credentials: "same-origin",
      ...(body === undefined ? {} : { headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) }),
    });
    const text = await response.text();
    let answer: Record<string, unknown> = {};
    try {
      answer = text ? (JSON.parse(text) as Record<string, unknown>) : {};
    } catch {
      answer = { message: text.slice(0, 200) };
    }
    if (response.ok) return answer as T;
    const refusal = new ApiError(response.status, answer, path);
    if (refusal.unauthorized && path !== "/api/login") this.onLogin();
    throw refusal;
  }
}
