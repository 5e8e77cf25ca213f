import { expect, test } from "vitest";
import { Api, ApiError } from "./api";

// A refusal for want of a token asks for one. That an agent is not logged in is a 401, too, and does not.
test("only the server's own 401 asks for a token", async () => {
  for (const [code, asks] of [["unauthorized", 1], ["invalid_token", 1], ["auth_required", 0]] as const) {
    let asked = 0;
    const body = JSON.stringify({ status: "error", code, message: "the login of codex" });
    const api = new Api("http://localhost/", async () => new Response(body, { status: 401 }));
    api.onLogin = () => asked++;
    const refusal = await api.get("/api/account/rate-limits").catch((err: unknown) => err);
    expect(refusal).toBeInstanceOf(ApiError);
    expect((refusal as ApiError).unauthorized).toBe(asks === 1);
    expect(asked).toBe(asks);
  }
});
