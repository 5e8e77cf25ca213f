import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { agentName, changesOf } from "../core/entries";
import type { Aim } from "../core/requestKeys";
import { clock } from "../core/time";
import type { Request, Settled } from "../core/types";
import { text } from "../text";
import { answer, choices, decide, respond } from "./decide";
import { useDecision } from "./Decided";
import { DiffView } from "./DiffView";
import { useClient, useNow, useSignal } from "./hooks";
import { Questions } from "./Questions";
import { useRequestKeys } from "./useRequestKeys";

/** A card that appears under a pointer takes no click for so long, in ms. */
const inert = 400;

const labels: Record<Aim, string> = {
  approve: text.request.approve, session: text.request.session, always: text.request.always, decline: text.request.decline, reason: text.request.why,
};

/** about says what an agent wants. */
export function about(request: Request, agent: string): string {
  if (request.kind === "question") return text.request.question(agent);
  if (request.kind === "tool") return text.request.tool(agent, String(request.details.tool ?? ""));
  if (request.method.includes("fileChange") || request.method.includes("applyPatch")) return text.request.files(agent, changesOf(request.details).length);
  if (request.method.includes("ommand")) return text.request.command(agent);
  return request.method.includes("ermission") ? text.request.permissions(agent) : text.request.tool(agent, String(request.details.tool ?? ""));
}

/** lineOf is what a request is about in a line. */
export function lineOf(request: Request): string {
  const line = String(request.details.command ?? "");
  const quoted = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c (['"])([\s\S]*)\1$/.exec(line);
  if (line) return quoted ? quoted[2]! : line;
  if (request.questions[0]) return request.questions[0].question;
  return String(request.details.tool ?? request.summary);
}

/** SettledLine is a request of the inbox that was just decided. */
export function SettledLine({ settled, request }: { settled: Settled; request: Request }) {
  const line = useDecision(request.kind, { ...settled, decidedBy: settled.by, method: request.method });
  return <p className="settled" role="status"><span className="mono">{lineOf(request)}</span> <span className="dim">{line}</span></p>;
}

export type CardProps = {
  request: Request;
  name?: string;
  selected?: boolean;
  onSelect?: () => void;
  chosen?: boolean;
  onChoose?: () => void;
  /** Called with J, K or X on the focused card, where these are commands. */
  onMove?: (key: string) => void;
  /** Called when the focus has no place here any more: by Escape, or because the request is settled. */
  onLeave: (card: HTMLElement, settled: boolean) => void;
};

/** RequestCard is a request with the buttons that answer it. */
export function RequestCard({ request, name, selected, onSelect, chosen = false, onChoose, onMove, onLeave }: CardProps) {
  const client = useClient();
  useSignal(client.signal);
  const { lostAt } = client;
  const now = useNow(1000, lostAt === null);
  const appeared = useRef(Date.now());
  const card = useRef<HTMLElement>(null);
  const reasonField = useRef<HTMLInputElement>(null);
  const [reason, setReason] = useState("");
  const [working, setWorking] = useState(false);
  const busy = working || lostAt !== null; // a decision that is lost is none
  const [failure, setFailure] = useState<string | null>(null);
  const [asks, ask] = useState(false);
  useEffect(() => {
    if (asks) reasonField.current?.focus();
  }, [asks]);
  const leave = useRef(onLeave);
  leave.current = onLeave;
  useLayoutEffect(() => {
    const own = card.current!;
    return () => {
      if (own.contains(document.activeElement)) leave.current(own, true);
    };
  }, []);
  const run = async (work: () => Promise<void>) => {
    if (card.current?.contains(document.activeElement)) card.current.focus({ preventScroll: true }); // a disabled button loses it
    setWorking(true);
    setFailure(null);
    try {
      await work();
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
    } finally {
      setWorking(false);
    }
  };
  const click = (work: () => Promise<void>) => (e: React.MouseEvent) => {
    if (e.detail > 0 && Date.now() - appeared.current < inert) return; // it was meant for what was here before
    void run(work);
  };
  const may = client.may("work");
  const offers: Aim[] = request.kind === "approval" && may && !busy ? [...choices(request), "reason"] : [];
  const keys = useRequestKeys(offers, labels, {
    decide: (aim) => (aim === "reason" ? ask(true) : void run(() => decide(client, request, aim))),
    leave: () => onLeave(card.current!, false),
    move: onMove,
  });
  const runtime = client.store.sessions.get(request.threadId)?.runtime;
  const agent = runtime ? agentName(runtime) : text.request.anAgent;
  const cwd = request.details.cwd ? String(request.details.cwd) : "";
  const changes = changesOf(request.details);
  return (
    <section ref={card} className="request" role="group" tabIndex={0} data-request={request.id} data-selected={selected || undefined} aria-label={`${text.request.needs}: ${lineOf(request)}`}
      onClick={onSelect} onFocus={(e) => { keys.onFocus(e); onSelect?.(); }} onBlur={keys.onBlur} onKeyDown={keys.onKeyDown}>
      <header>
        {onChoose && <input type="checkbox" checked={chosen} aria-label={`${text.inbox.select}: ${lineOf(request)}`} onChange={onChoose} onClick={(e) => e.stopPropagation()} />}
        <strong className="needs">{name ?? text.request.needs}</strong> <span className="dim">{about(request, agent)}</span>
        <span className="wait">{text.request.waiting(clock(now - request.createdAt))}</span>
      </header>
      {request.kind !== "question" && <pre className="command" tabIndex={0}>{lineOf(request)}{cwd && <span className="dim">{"\n"}{text.request.in(cwd)}</span>}</pre>}
      {typeof request.details.reason === "string" && request.details.reason && <p className="plain">{request.details.reason}</p>}
      {changes.length > 0 && <DiffView changes={changes} />}
      {request.kind === "approval" && may && (
        <div className="actions">
          {choices(request).map((choice) => (
            <button key={choice} type="button" disabled={busy} className={choice === "approve" ? "primary" : choice === "decline" ? "bad" : ""} data-choice={choice} {...keys.aimed(choice)}
              onClick={click(() => decide(client, request, choice))}>
              {labels[choice]} {keys.hint(choice)}
            </button>
          ))}
          <button type="button" disabled={busy} aria-expanded={asks} {...keys.aimed("reason")} onClick={() => ask(!asks)}>{labels.reason} {keys.hint("reason")}</button>
          {keys.aim && <span className="dim aim">{text.request.aims[keys.aim]} · {text.request.cancels}</span>}
        </div>
      )}
      {asks && may && (
        <form className="actions" onSubmit={(e) => { e.preventDefault(); void run(() => decide(client, request, "decline", reason)); }}>
          <input ref={reasonField} value={reason} maxLength={4000} aria-label={text.request.reason} placeholder={text.request.reason} onChange={(e) => setReason(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== "Escape" || e.nativeEvent.isComposing) return;
              e.stopPropagation();
              ask(false);
              card.current!.focus();
            }} />
          <button type="submit" className="bad" disabled={busy || !reason}>{text.request.decline}</button>
        </form>
      )}
      {request.kind === "question" && may && <Questions questions={request.questions} busy={busy} send={(given) => void run(() => answer(client, request, given))} />}
      {request.kind === "tool" && may && (
        <form className="actions" onSubmit={(e) => { e.preventDefault(); void run(() => respond(client, request, true, reason)); }}>
          <input value={reason} aria-label={text.request.result} placeholder={text.request.result} onChange={(e) => setReason(e.target.value)} />
          <button type="submit" className="primary" disabled={busy}>{text.request.answer}</button>
          <button type="button" disabled={busy} onClick={click(() => respond(client, request, false, reason || text.request.declined))}>{text.request.refuse}</button>
        </form>
      )}
      {lostAt !== null && may && <p className="dim plain">{text.link.decide}</p>}
      {failure && <p className="failure" role="alert">{failure}</p>}
    </section>
  );
}
