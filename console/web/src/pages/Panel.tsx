import { agentName, filesOf } from "../core/entries";
import { fileDiff } from "../core/diff";
import type { Open } from "../core/store";
import type { Session } from "../core/types";
import { digits } from "../core/time";
import { text } from "../text";
import { Counts } from "../ui/DiffView";
import { useList, useSignal } from "../ui/hooks";
import { RunsWith } from "./RunsWith";

const marks: Record<string, string> = { completed: "✓", inProgress: "◌", in_progress: "◌", pending: "○" };

/** Panel is what stands beside a transcript: the plan, the files that changed, how full the context is, and where. */
export function Panel({ open, session }: { open: Open; session: Session | undefined }) {
  useSignal(open.signal);
  useList(open.transcript);
  const { usage, plan } = open;
  const files = filesOf(open.transcript.ids.map((id) => open.transcript.rows.get(id)!.entry));
  return (
    <aside className="panel" aria-label={text.session.panel}>
      <h2>{text.session.plan}</h2>
      {plan.length === 0 ? <p className="dim">{text.session.noPlan}</p> : (
        <ol className="plan">{plan.map((p, i) => <li key={i} data-status={p.status}><span aria-hidden="true">{marks[p.status] ?? "○"}</span> {p.step}</li>)}</ol>
      )}
      {files.length > 0 && (
        <>
          <h2>{text.session.changes}</h2>
          <ul className="files">{files.map((f) => <li key={f.path} className="mono">{f.path} {f.became ? <span className="dim">{text.became[f.became]}</span> : <Counts file={fileDiff(f.change)} />}</li>)}</ul>
        </>
      )}
      {usage && (
        <>
          <h2>{text.session.context}</h2>
          {usage.window && <progress max={usage.window} value={usage.used} aria-label={text.session.context} />}
          <p className="dim">{text.session.tokens(digits(usage.used), usage.window ? digits(usage.window) : null, usage.window ? Math.round((100 * usage.used) / usage.window) : null)}</p>
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
    </aside>
  );
}
