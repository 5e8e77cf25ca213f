// A person logs in at a provider in a real browser, and is logged out by it.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const env = (name) => process.env[name] ?? assert.fail(`${name} is not set: this is run by go test ./internal/e2e/login`);
const { chromium } = createRequire(`${env("LOGIN_CONSOLE")}/package.json`)("playwright-core");
const browser = await chromium.launch({
  executablePath: env("LOGIN_CHROMIUM"),
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-dev-shm-usage"],
});
try {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(env("LOGIN_URL"));
  await page.getByRole("button", { name: "Continue with corp" }).click();
  // At the provider, which is another site.
  await page.waitForURL(`${env("LOGIN_PROVIDER")}/**`);
  await page.locator("input[name=login]").fill("ann");
  await page.locator("input[name=password]").fill("x");
  await page.locator("button[type=submit]").first().click();
  await page.locator("input[name=prompt][value=consent]").waitFor({ state: "attached" });
  await page.locator("button[type=submit]").first().click();
  // Back in the console.
  await page.waitForURL(`${env("LOGIN_URL")}/`);
  await page.getByRole("link", { name: "Settings" }).first().click();
  await page.locator("main").getByText("Ann Lee").first().waitFor();
  assert.match(await page.locator("main").first().innerText(), /Ann Lee\s+Operator/);
  const cookies = await context.cookies(env("LOGIN_URL"));
  assert.deepEqual(cookies.map(({ name, httpOnly, sameSite, path }) => [name.replace(/\d+$/, ""), httpOnly, sameSite, path]),
    [["harness_login_", true, "Strict", "/"]]);
  // The provider logs her out: the page learns of it by itself.
  const sent = await fetch(`${env("LOGIN_PROVIDER")}/test/logout?client=harness&sub=ann`, { method: "POST" });
  assert.equal(sent.status, 200, await sent.text());
  await page.getByText("You’ve been signed out").waitFor();
} catch (err) {
  for (const page of browser.contexts().flatMap((c) => c.pages())) console.error(page.url(), await page.content().catch(String));
  throw err;
} finally {
  await browser.close();
}
