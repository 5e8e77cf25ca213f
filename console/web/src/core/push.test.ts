import { expect, test } from "vitest";
import { Api } from "./api";
import { Push, type Workers } from "./push";

test("a subscription that is being renewed is ended all the same", async () => {
  const asked: string[] = [];
  let subscribed = true;
  const subscription = { options: { applicationServerKey: null }, toJSON: () => ({ endpoint: "https://a.example", keys: {} }), unsubscribe: async () => !(subscribed = false) };
  const pushManager = { getSubscription: async () => (subscribed ? subscription : null), subscribe: async () => ((subscribed = true), subscription) };
  const workers = { getRegistration: () => new Promise((done) => setTimeout(() => done({ pushManager }), 5)) } as unknown as Workers;
  const api = new Api("http://x/", async (url, init) => {
    asked.push(`${init?.method} ${new URL(url).pathname}`);
    return new Response(JSON.stringify({ data: [], publicKey: "AA", subscription: { id: "own", service: "s", createdAt: "" } }));
  });
  const push = new Push(api, workers);
  const renewed = push.start();
  await push.off();
  await renewed;
  expect([push.state, subscribed, asked.at(-2)]).toEqual(["off", false, "DELETE /api/push/own"]);
});
