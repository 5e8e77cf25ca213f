// A real OpenID Connect provider on loopback for tests. It prints its issuer in one line, and ends with its standard input.
// Its configuration is JSON in PROVIDER: {clients, accounts: {LOGIN: claims}, claims: [names of further claims]}.
// Whatever password is entered is right. POST /test/logout?client=ID&sub=LOGIN sends that client a logout token.
import { createServer } from "node:http";
import { generateKeyPairSync } from "node:crypto";
import { Provider } from "oidc-provider";

const { clients, accounts, claims } = JSON.parse(process.env.PROVIDER);
const server = createServer();
await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
const issuer = `http://127.0.0.1:${server.address().port}`;
const key = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ format: "jwk" });
const names = ["name", "preferred_username", "email", ...claims];

const provider = new Provider(issuer, {
  clients,
  jwks: { keys: [{ ...key, use: "sig", alg: "RS256", kid: "1" }] },
  cookies: { keys: ["the-cookies-of-the-test"] },
  claims: { openid: ["sub", ...claims], profile: ["name", "preferred_username"], email: ["email"] },
  conformIdTokenClaims: false,
  features: {
    devInteractions: { enabled: true }, backchannelLogout: { enabled: true }, deviceFlow: { enabled: true }, revocation: { enabled: true },
  },
  findAccount: (_, login) => ({
    accountId: login,
    claims: () => ({ sub: login, ...Object.fromEntries(names.filter((n) => n in (accounts[login] ?? {})).map((n) => [n, accounts[login][n]])) }),
  }),
  // Clients of a test are on loopback, where providers of the world send nothing.
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
  // A refresh token for every client that asks for offline_access, also without a consent prompt.
  issueRefreshToken: async (_, client, code) => client.grantTypeAllowed("refresh_token") && code.scopes.has("offline_access"),
});

const serve = provider.callback();
server.on("request", async (request, response) => {
  const url = new URL(request.url, issuer);
  if (request.method !== "POST" || url.pathname !== "/test/logout") {
    serve(request, response);
    return;
  }
  const client = await provider.Client.find(url.searchParams.get("client"));
  try {
    await client.backchannelLogout(url.searchParams.get("sub"), url.searchParams.get("sid") ?? undefined);
    response.end("sent");
  } catch (err) {
    response.statusCode = 502;
    response.end(String(err));
  }
});
console.log(issuer);
process.stdin.on("end", () => process.exit(0)).resume();
