// The pages of those who operate the server.
import assert from "node:assert/strict";
import { api, base, eventually, live, newSession, open, order, send, token } from "./kit.mjs";

const finishedTurn = (id) => eventually("its turn is over and counted", async () => (await api("GET", `/api/usage?session=${id}`)).total.totalTokens > 0 && (await api("GET", `/api/sessions/${id}?limit=1`)).session.state === "idle");

export const cases = (test) => {
  test("runtimes: how each is, what it can, how to log in", async (browser) => {
    const { page, close } = await open(browser, "/runtimes");
    const { data } = await api("GET", "/api/runtimes");
    for (const runtime of data) {
      const card = page.locator(`[data-runtime="${runtime.name}"]`);
      await card.locator(`[data-state="${runtime.state}"]`).waitFor();
      await card.locator("summary").click();
      for (const sandbox of runtime.capabilities.sandboxes) await card.locator(`.facts [title*="${sandbox}"]`).first().waitFor();
    }
    assert.deepEqual(data.map((r) => r.name), ["codex", "claude"]);
    let asked = null;
    await page.route("**/api/runtimes/codex/login", (route) => {
      asked = route.request().postDataJSON();
      return route.fulfill({ json: { url: "https://example.com/device", code: "ABCD-1234" } });
    });
    await page.locator('[data-runtime="codex"]').getByRole("button", { name: "Sign in" }).click();
    await page.getByText("ABCD-1234").waitFor();
    assert.equal(await page.getByRole("link", { name: "https://example.com/device" }).getAttribute("rel"), "noreferrer noopener");
    assert.deepEqual(asked, {});
    await close();
  });

  test("extensions: what is loaded and trusted; a reload takes all or says why none", async (browser) => {
    const { page, close } = await open(browser, "/extensions");
    await page.locator('[data-module="suggester"]').getByText("suggest_request.requested").first().waitFor();
    await order("extension", { name: "broken", code: "export function registerAgentEvents(registry) { registry.on(" });
    await page.getByRole("button", { name: "Reload" }).click();
    const outcome = page.locator('.outcome[role="status"]');
    await outcome.getByText("Nothing changed.").waitFor();
    await outcome.locator("li", { hasText: "broken" }).locator("pre").waitFor();
    assert.equal(await page.locator("[data-module]").count(), 1);
    await order("extension", { name: "broken", code: "export function registerAgentEvents(registry) {}" });
    await page.getByRole("button", { name: "Reload" }).click();
    await outcome.getByText("2 extensions loaded").waitFor();
    await page.locator('[data-module="broken"]').waitFor();
    await close();
  });

  test("events: the journal as it grows, with filters", async (browser) => {
    const id = await newSession("With events");
    const { page, close } = await open(browser, `/events?session=${id}`);
    await live(page);
    await page.locator("[data-event]").first().waitFor();
    await send(id, "MOCK_REPLY[counted]");
    const types = () => page.locator("[data-event] td:nth-child(3)").allInnerTexts();
    await eventually("the turn's end shows by itself", async () => (await types()).includes("turn/completed"));
    await page.getByLabel("Type").fill("turn/*");
    await page.getByRole("button", { name: "Apply" }).click();
    await eventually("only turns are shown", async () => { const all = await types(); return all.length > 0 && all.every((one) => one.startsWith("turn/")); });
    assert.match(page.url(), /type=turn%2F\*/);
    await page.locator("[data-event] button").first().click();
    await page.locator(".panel pre").getByText(id).first().waitFor();
    await close();
  });

  test("usage: tokens, then money once the model has a price; a chart with its table; the session says its cost", async (browser) => {
    const id = await newSession("With usage");
    await send(id, "MOCK_REPLY[counted]");
    await finishedTurn(id);
    const model = (await api("GET", `/api/usage?by=model&session=${id}`)).data[0].key;
    const { page, close } = await open(browser, "/usage");
    await live(page);
    const spend = page.locator(`[data-used="${id}"] td`).last();
    await spend.waitFor();
    assert.equal(await spend.innerText(), "No price");
    assert.match(await page.getByRole("note").innerText(), new RegExp(`No price for .*${model}`));
    await page.getByRole("heading", { name: "Tokens per day" }).waitFor();
    await page.getByRole("button", { name: "Set a price" }).click();
    const field = page.getByLabel("Model", { exact: true });
    await eventually("the form has the model and the focus", async () => (await field.inputValue()) !== "" && (await field.evaluate((e) => e === document.activeElement)));
    await field.fill(`${model.slice(0, 4)}*`);
    for (const [label, amount] of [["Input", "100"], ["Cached input", "10"], ["Output", "1000"]]) await page.getByLabel(label, { exact: true }).fill(amount);
    await page.getByRole("button", { name: "Save price" }).click();
    await eventually("the session has a cost", async () => /^<?\$\d/.test(await spend.innerText()));
    const { costMicros, inputTokens, cachedInputTokens, outputTokens } = (await api("GET", `/api/usage?session=${id}`)).total;
    assert.equal(costMicros, (inputTokens - cachedInputTokens) * 100 + cachedInputTokens * 10 + outputTokens * 1000);
    await page.getByRole("heading", { name: "Spend per day" }).waitFor();
    assert.ok((await page.locator(".chart rect").count()) > 0, "the chart has no bar");
    await page.getByText("Show as table").click();
    assert.match(await page.locator(".sheet details table").innerText(), /Codex[^]*\$/);
    const saved = page.waitForEvent("download");
    await page.getByRole("button", { name: "Export CSV" }).click();
    assert.match((await saved).suggestedFilename(), /^usage-session-.*\.csv$/);
    for (const tab of ["Project", "Model", "Agent", "Day"]) {
      await page.getByRole("button", { name: tab, exact: true }).click();
      await page.locator("thead th").first().getByText(tab, { exact: true }).or(page.locator(".flush thead th").first().getByText(tab, { exact: true })).first().waitFor();
    }
    await page.setViewportSize({ width: 390, height: 844 });
    const wide = await page.evaluate(() => [...document.querySelectorAll("main *")].filter((e) => !e.closest(".table, .unseen") && e.getBoundingClientRect().right > 390).map((e) => e.outerHTML.slice(0, 100)));
    assert.deepEqual(wide, [], "it is wider than a phone");
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.goto(`${base}/s/${id}?panel=context`);
    await page.locator(".head .meta").getByText(/\$/).waitFor();
    await page.getByRole("complementary", { name: "Session details" }).getByText(/\$.* tokens/).waitFor();
    const { data } = await api("GET", "/api/prices");
    await api("DELETE", `/api/prices/${data.find((price) => !price.builtIn).id}`);
    await close();
  });

  test("jobs: what was queued shows by itself, with its payload and where it came from", async (browser) => {
    const { project } = await api("POST", "/api/projects", { name: "Jobs of the console" });
    const id = await newSession("With a job");
    await api("POST", `/api/sessions/${id}/project`, { projectId: project.projectId });
    await send(id, "MOCK_REPLY[hello]");
    await eventually("it has answered", async () => (await api("GET", `/api/sessions/${id}?limit=5`)).transcript.some((e) => e.role === "assistant" && e.status === "complete"));
    const { page, close } = await open(browser, "/jobs");
    await live(page);
    await page.locator(".jobs .tabs").waitFor();
    const { jobId } = await api("POST", `/api/sessions/${id}/suggested-request/jobs`, {});
    const row = page.locator(`[data-job="${jobId}"]`);
    await row.waitFor();
    await row.getByRole("button", { name: "suggest_request" }).click();
    const detail = page.locator(".jobs .panel");
    await detail.getByText("from the console").waitFor();
    await eventually("its end shows by itself", async () => ["completed", "failed"].includes(await row.locator(".pill").getAttribute("data-state")));
    const { job } = await api("GET", `/api/orchestrator/jobs/${jobId}`);
    await page.getByRole("button", { name: job.state === "completed" ? /^Done/ : /^Failed/ }).click();
    await row.waitFor();
    assert.match(page.url(), new RegExp(`state=${job.state}`));
    await page.getByRole("button", { name: /^Queued/ }).click();
    await eventually("it is not among those that wait", async () => (await row.count()) === 0);
    await detail.getByRole("button", { name: "Run again" }).click();
    await eventually("the new one is shown", async () => { const now = new URL(page.url()).searchParams.get("job"); return now && now !== jobId; });
    await eventually("and its end", async () => ["completed", "failed"].includes(await detail.locator(".pill").getAttribute("data-state")));
    await page.locator(".jobs .panel").getByRole("link", { name: "Started from session" }).click();
    await page.waitForURL(`**/s/${id}`);
    await close();
  });

  test("jobs: one that runs again meanwhile is not run twice, and the page says so", async (browser) => {
    const job = (state) => ({ id: "job-1", projectId: "p", projectName: null, type: "fixed", version: 1, state, priority: "interactive", createdAt: "2026-01-01T00:00:00.000Z",
      startedAt: null, completedAt: null, nextAttemptAt: null, lastAttemptAt: null, cancelRequestedAt: null, attempts: 1, maxAttempts: 2, sourceSessionId: null,
      runningContext: { threadId: null, turnId: null }, payload: {}, result: null, error: null });
    const { page, close } = await open(browser, "/jobs");
    let state = "failed";
    await page.route("**/api/orchestrator/jobs/job-1", (route) => route.fulfill({ json: { status: "ok", job: job(state) } }));
    await page.route("**/api/jobs/job-1/run-again", (route) => {
      state = "running";
      return route.fulfill({ status: 409, json: { status: "error", code: "job_conflict", message: "the job has not ended; cancel it, or wait for its end" } });
    });
    await page.goto(`${new URL(page.url()).href}?job=job-1`);
    const detail = page.locator(".jobs .panel");
    await detail.getByRole("button", { name: "Run again" }).click();
    await detail.getByText("has not ended").waitFor();
    await detail.locator('[data-state="running"]').waitFor();
    assert.equal(await detail.getByRole("button", { name: "Run again" }).count(), 0);
    await close();
  });

  test("settings: who administers the server sees what it runs with, without secrets", async (browser) => {
    const { page, close } = await open(browser, "/settings/server");
    const setting = (name) => page.locator(`[data-setting="${name}"]`);
    await setting("HARNESS_AUTH_TOKEN").getByText("[redacted]").waitFor();
    assert.match(await setting("DEFAULT_APPROVAL_POLICY").innerText(), /untrusted \(environment variable\)/);
    assert.equal(await setting("HARNESS_CONSOLE").count(), 0);
    await page.getByLabel("Show settings at their default").check();
    await setting("HARNESS_CONSOLE").getByText("(default)").waitFor();
    assert.ok(!(await page.content()).includes(token));
    await page.goto(`${base}/settings/defaults`);
    const picker = page.getByLabel("Defaults for new sessions: File access");
    const before = await picker.inputValue();
    const wanted = before === "read-only" ? "workspace-write" : "read-only";
    const controls = async () => { const made = await api("POST", "/api/sessions", {}); return made.session.sessionControls.filesystemSandbox; };
    await picker.selectOption(wanted);
    await eventually("new sessions have it", async () => (await controls()) === wanted);
    await page.reload();
    await eventually("it is shown after a reload", async () => (await picker.inputValue()) === wanted);
    await order("kill"); // locked behind the page's back
    await order("start", { env: "SESSION_DEFAULTS_LOCKED=true" });
    await live(page);
    const answered = page.waitForResponse((r) => r.url().endsWith("/api/server/settings") && r.request().method() === "POST");
    await picker.selectOption("danger-full-access");
    assert.equal((await answered).status(), 423);
    await eventually("it is not offered any more", () => picker.isDisabled());
    assert.match(await page.locator(`[id="${await picker.getAttribute("aria-describedby")}"]`).innerText(), /SESSION_DEFAULTS_LOCKED/);
    assert.equal(await picker.inputValue(), before, "the configured one is in force");
    await order("kill");
    await order("start");
    await live(page);
    await page.reload();
    await eventually("it can be changed again", async () => (await picker.count()) === 1 && !(await picker.isDisabled()));
    await picker.selectOption(before);
    await eventually("it is as before", async () => (await controls()) === before);
    await close();
    const viewer = await api("POST", "/api/tokens", { name: "settings-viewer", role: "viewer" });
    const other = await open(browser, "/settings", { as: viewer.secret });
    await other.page.getByText("Can read").waitFor();
    assert.equal(await other.page.getByRole("link", { name: /Server|Defaults|tokens|Jobs|Events|Extensions/ }).count(), 0);
    await other.page.goto(`${base}/settings/server`);
    await other.page.getByText("This page needs the role Admin.").waitFor();
    await other.close();
    await api("DELETE", `/api/tokens/${viewer.token.id}`);
  });

  test("what new sessions run with: locked by the configuration, the page says so before and after it is tried", async (browser) => {
    const id = await newSession("Locked");
    const { controls, defaults } = await api("GET", `/api/sessions/${id}/session-controls`);
    const approvalPolicy = defaults.approvalPolicy === "never" ? "untrusted" : "never";
    await api("POST", `/api/sessions/${id}/session-controls`, { scope: "session", controls: { ...controls, approvalPolicy } });
    const { page, close } = await open(browser, `/s/${id}?panel=context`, { viewport: { width: 1600, height: 900 } });
    await live(page);
    const button = page.getByRole("button", { name: "Use for new sessions" });
    await button.waitFor();
    assert.equal(await button.isDisabled(), false);
    await order("kill");
    await order("start", { env: "SESSION_DEFAULTS_LOCKED=true" });
    await live(page);
    const answered = page.waitForResponse((r) => r.url().endsWith("/session-controls") && r.request().method() === "POST");
    await button.click();
    assert.equal((await answered).status(), 423);
    await eventually("it is not offered any more", () => button.isDisabled());
    const reason = page.locator(`[id="${await button.getAttribute("aria-describedby")}"]`);
    const said = "SESSION_DEFAULTS_LOCKED";
    assert.ok((await reason.innerText()).includes(said));
    assert.deepEqual(await page.getByRole("complementary", { name: "Session details" }).getByRole("alert").allInnerTexts(), [], "the reason is said once");
    await page.reload();
    await reason.waitFor();
    assert.equal(await button.isDisabled(), true);
    assert.deepEqual((await api("GET", `/api/sessions/${id}/session-controls`)).defaults, defaults);
    await page.goto(`${base}/settings/defaults`);
    await page.getByText("SESSION_DEFAULTS_LOCKED and").waitFor();
    await page.goto(`${base}/settings/server`);
    assert.match(await page.locator('[data-setting="SESSION_DEFAULTS_LOCKED"]').innerText(), /true \(environment variable\)/);
    await order("kill");
    await order("start");
    await close();
  });
};
