import { useId, useLayoutEffect, useRef, useState } from "react";
import { Link as To } from "wouter";
import type { Aim } from "../core/requestKeys";
import { clock } from "../core/time";
import type { Request, Settled } from "../core/types";
import { text } from "../text";
import { answer, choices, decide, respond } from "./decide";
import { useDecision } from "./Decided";
import { Decisions, labels } from "./Decisions";
import { useClient, useNow, useSignal } from "./hooks";
import { Icon } from "./Icon";
import { Questions } from "./Questions";
import { agentOf, Asked, Facts, lineOf, useChanges, wants } from "./Request";
import { useRequestKeys } from "./useRequestKeys";

/** A card that appears under a pointer takes no click for so long, in ms. */
const inert = 400;

/** SettledLine is a request of the inbox that was just decided. */
export function SettledLine({ settled, request }: { settled: Settled; request: Request }) {
  const line = useDecision(request.kind, { ...settled, decidedBy: settled.by, method: request.method });
  const declined = settled.decision !== "accept";
  return <p className="settled" role="status"><Icon name={declined ? "ban" : "check"} /><span>{line}</span><span className="mono clip">{lineOf(request)}</span></p>;
}

/** useOutcome carries out a decision of a card: that it is under way, and why it failed. */
function useOutcome(card: React.RefObject<HTMLElement | null>) {
  const [working, setWorking] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const run = (work: () => Promise<void>) => {
    if (card.current?.contains(document.activeElement)) card.current.focus({ preventScroll: true }); // a disabled button loses it
    setWorking(true);
    setFailure(null);
    work().catch((err: unknown) => setFailure(err instanceof Error ? err.message : String(err))).finally(() => setWorking(false));
  };
  return { working, failure, run };
}

export type CardProps = {
  request: Request;
  /** The session's name, where it is not the one that is open. */
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
  const heading = useId();
  const { working, failure, run } = useOutcome(card);
  const busy = working || lostAt !== null; // a decision that is lost is none
  const [asks, ask] = useState(false);
  const leave = useRef(onLeave);
  leave.current = onLeave;
  useLayoutEffect(() => {
    const own = card.current!;
    return () => {
      if (own.contains(document.activeElement)) leave.current(own, true);
    };
  }, []);
  const click = (work: () => void) => (e: React.MouseEvent) => {
    if (e.detail > 0 && Date.now() - appeared.current < inert) return; // it was meant for what was here before
    work();
  };
  const may = client.may("work");
  const offers: Aim[] = request.kind === "approval" && may && !busy ? [...choices(request), "reason"] : [];
  const act = (choice: Exclude<Aim, "reason">, reason = "") => run(() => decide(client, request, choice, reason));
  const keys = useRequestKeys(offers, labels, {
    decide: (aim) => (aim === "reason" ? ask(true) : act(aim)),
    leave: () => onLeave(card.current!, false),
    move: onMove,
  });
  const askFor = (asks: boolean) => {
    ask(asks);
    if (!asks) card.current!.focus();
  };
  const changes = useChanges(request);
  const cwd = client.store.sessions.get(request.threadId)?.cwd;
  return (
    <section ref={card} className="request" role="group" tabIndex={0} data-request={request.id} data-selected={selected || undefined} aria-labelledby={heading}
      onClick={onSelect} onFocus={(e) => { keys.onFocus(e); onSelect?.(); }} onBlur={keys.onBlur} onKeyDown={keys.onKeyDown}>
      <header>
        {onChoose && <input type="checkbox" checked={chosen} aria-label={`${text.inbox.select}: ${lineOf(request)}`} onChange={onChoose} onClick={(e) => e.stopPropagation()} />}
        <Icon name={request.kind === "question" ? "circle-question-mark" : "hand"} />
        <h2 id={heading}>{wants(request, agentOf(client, request), changes.length)}</h2>
        {name && <To className="needs clip" href={`/s/${encodeURIComponent(request.threadId)}`}>{name}</To>}
        <span className="wait" aria-label={text.request.waiting(clock(now - request.createdAt))}>{clock(now - request.createdAt)}</span>
      </header>
      <Asked request={request} changes={changes} cwd={cwd} />
      {request.kind === "question" && may && <Questions questions={request.questions} busy={busy} send={(given) => run(() => answer(client, request, given))} />}
      {request.kind === "question" && !may && request.questions.map((q) => <p key={q.id} className="reason">{q.question}</p>)}
      {request.kind === "approval" && <Facts request={request} />}
      {request.kind === "approval" && may && <Decisions request={request} busy={busy} keys={keys} asks={asks} ask={askFor} click={click} decide={act} />}
      {request.kind === "tool" && may && <ToolResult busy={busy} send={(success, result) => run(() => respond(client, request, success, result))} />}
      {!may && <p className="note dim">{text.talk.operators}</p>}
      {lostAt !== null && may && <p className="note dim">{text.link.decide}</p>}
      {working && <p className="note dim" role="status">{text.talk.deciding}</p>}
      {failure && <p className="failure" role="alert">{failure}</p>}
    </section>
  );
}

function ToolResult({ busy, send }: { busy: boolean; send: (success: boolean, result: string) => void }) {
  const [result, setResult] = useState("");
  return (
    <form className="actions" onSubmit={(e) => { e.preventDefault(); send(true, result); }}>
      <input value={result} aria-label={text.request.result} placeholder={text.request.result} onChange={(e) => setResult(e.target.value)} />
      <button type="submit" className="primary" disabled={busy}>{text.request.answer}</button>
      <button type="button" className="bad" disabled={busy} onClick={() => send(false, result || text.request.declined)}>{text.request.refuse}</button>
    </form>
  );
}
