import { useEffect, useState } from "react";
import { useLocation, useSearch } from "wouter";
import { agentName } from "../core/entries";
import type { Open } from "../core/store";
import { amount } from "../core/money";
import { digits } from "../core/time";
import type { PlanStep, Session, Usage } from "../core/types";
import { text } from "../text";
import { useClient, useList, useSignal } from "../ui/hooks";
import { Icon, type IconName } from "../ui/Icon";
import { later } from "../ui/later";
import { spendOf, useSpend } from "../ui/spend";
import { Changes } from "./Changes";
import { RunsWith } from "./RunsWith";

/** Files are loaded when they are shown. */
const Files = later(async () => (await import("./Files")).Files);

const tabs = ["changes", "plan", "context", "files"] as const;
export type Tab = (typeof tabs)[number];

/** The panel stands beside the transcript from this width on; where there is less it opens over it, on demand. */
const beside = "(min-width: 1280px)";

/** usePanel is which tab of the side panel is shown. It stands in the address. */
export function usePanel(): { shown: boolean; tab: Tab; show: (tab: Tab | null) => void } {
  const [at, go] = useLocation();
  const query = new URLSearchParams(useSearch());
  const [hidden, setHidden] = useState(() => !matchMedia(beside).matches);
  const asked = query.get("panel") as Tab | null;
  const tab = asked && tabs.includes(asked) ? asked : null;
  const show = (next: Tab | null) => {
    setHidden(next === null);
    if (next === null) query.delete("panel");
    else query.set("panel", next);
    go(query.size > 0 ? `${at}?${query}` : at, { replace: true });
  };
  return { shown: tab !== null || !hidden, tab: tab ?? "changes", show };
}

const marks: Record<string, IconName> = { completed: "circle-check", inProgress: "circle-dashed", in_progress: "circle-dashed" };

function Plan({ plan }: { plan: PlanStep[] }) {
  if (plan.length === 0) return <p className="dim">{text.session.noPlan}</p>;
  return <ol className="plan">{plan.map((p, i) => <li key={i} data-status={p.status}><Icon name={marks[p.status] ?? "circle-dashed"} /><span>{p.step}</span></li>)}</ol>;
}

function Context({ open, usage, session }: { open: Open; usage: Usage | null; session: Session | undefined }) {
  const spend = useSpend(open);
  return (
    <>
      {usage && (
        <>
          <h2>{text.session.context}</h2>
          {usage.window && <progress max={usage.window} value={usage.used} aria-label={text.session.context} />}
          <p className="dim">{text.session.tokens(digits(usage.used), usage.window ? digits(usage.window) : null, usage.window ? Math.round((100 * usage.used) / usage.window) : null)}</p>
        </>
      )}
      {!!spend?.data.length && (
        <>
          <h2>{text.usage.spend}</h2>
          <dl className="facts">{spend.data.map((used) => <div key={used.key} className="fact"><dt>{used.key === "unknown" ? text.usage.unknown : used.key}</dt><dd>{spendOf(used)} · {text.session.tokens(amount(used.totalTokens), null, null)}</dd></div>)}</dl>
        </>
      )}
      {session && <RunsWith session={session} />}
      {session && (
        <>
          <h2>{text.session.where}</h2>
          <p className="mono">{session.cwd}</p>
          <p className="dim" title={session.runtime}>{agentName(session.runtime)}</p>
        </>
      )}
    </>
  );
}

/** Panel is what stands beside a transcript: the files that changed, the plan, how full the context is, what turns run with, and the files of the folder. */
export function Panel({ open, session, panel }: { open: Open; session: Session | undefined; panel: ReturnType<typeof usePanel> }) {
  useSignal(open.signal);
  useList(open.transcript);
  const client = useClient();
  useSignal(client.store.list);
  const { plan } = open;
  const done = plan.filter((step) => step.status === "completed").length;
  const shown = tabs.filter((tab) => tab !== "files" || client.may("work")); // the server shows files to operators
  const names: Record<Tab, string> = { changes: text.session.changes, plan: plan.length > 0 ? `${text.session.plan} ${done}/${plan.length}` : text.session.plan, context: text.session.context, files: text.files.title };
  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key !== "Escape" || matchMedia(beside).matches || document.querySelector("dialog[open]")) return;
      e.stopImmediatePropagation(); // it closes what stands over the transcript, and stops no turn
      panel.show(null);
    };
    addEventListener("keydown", onKey, true);
    return () => removeEventListener("keydown", onKey, true);
  });
  return (
    <aside className="panel" aria-label={text.session.panel}>
      <div className="tabs" role="tablist" aria-label={text.session.panel}>
        {shown.map((tab) => (
          <button key={tab} type="button" role="tab" id={`tab-${tab}`} aria-controls="panel" aria-selected={panel.tab === tab} tabIndex={panel.tab === tab ? 0 : -1} className="tab" onClick={() => panel.show(tab)}
            onKeyDown={(e) => {
              const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
              if (!step) return;
              const next = shown[(shown.indexOf(tab) + step + shown.length) % shown.length]!;
              panel.show(next);
              document.getElementById(`tab-${next}`)?.focus();
            }}>{names[tab]}</button>
        ))}
        <span className="grow" />
        <button type="button" className="icon ghost over-only" aria-label={text.talk.hidePanel} onClick={() => panel.show(null)}><Icon name="x" /></button>
      </div>
      <div id="panel" role="tabpanel" aria-labelledby={`tab-${panel.tab}`} className="panel-body" tabIndex={0}>
        {panel.tab === "changes" && session && <Changes open={open} session={session} />}
        {panel.tab === "plan" && <Plan plan={plan} />}
        {panel.tab === "context" && <Context open={open} usage={open.usage} session={session} />}
        {panel.tab === "files" && session && shown.includes("files") && <Files key={session.sessionId} session={session} />}
      </div>
    </aside>
  );
}
