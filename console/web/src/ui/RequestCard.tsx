import { useEffect, useRef, useState } from "react";
import { changesOf } from "../core/entries";
import { answersTo, mark, markOwn, type, unmarked, type Marked } from "../core/questions";
import { clock } from "../core/time";
import type { Question, Request, Settled } from "../core/types";
import { text } from "../text/en";
import { answer, choices, decide, respond, type Choice } from "./decide";
import { DiffView } from "./DiffView";
import { useClient, useNow } from "./hooks";

/** A card that appears under a pointer takes no click for so long, in ms. */
const inert = 400;

const labels: Record<Choice, [string, string]> = {
  approve: [text.request.approve, "Y"], session: [text.request.session, "S"], always: [text.request.always, "A"], decline: [text.request.decline, "N"],
};

export function about(request: Request): string {
  if (request.kind === "question") return text.request.question;
  if (request.kind === "tool") return text.request.tool;
  if (request.method.includes("fileChange") || request.method.includes("applyPatch")) return text.request.files;
  if (request.method.includes("ommand")) return text.request.command;
  return request.method.includes("ermission") ? text.request.permissions : text.request.tool;
}

/** lineOf is what a request is about in a line. */
export function lineOf(request: Request): string {
  const line = String(request.details.command ?? "");
  const quoted = /^(?:\/\S*\/)?(?:ba|z|da)?sh -l?c (['"])([\s\S]*)\1$/.exec(line);
  if (line) return quoted ? quoted[2]! : line;
  if (request.questions[0]) return request.questions[0].question;
  return String(request.details.tool ?? request.summary);
}

export function SettledLine({ settled, request }: { settled: Settled; request: Request | undefined }) {
  const client = useClient();
  const words: Record<string, string> = { accept: text.request.approved, decline: text.request.declined, cancel: text.request.canceled };
  const what = settled.status === "resolved" ? (words[settled.decision ?? ""] ?? text.request.answered) : (settled.status === "expired" ? text.request.expired : settled.status);
  const who = settled.by === undefined ? "" : ` by ${client.nameOf(settled.by)}`;
  return <p className="settled" role="status"><span className="mono">{request ? lineOf(request) : ""}</span> <span className="dim">{what}{who}</span></p>;
}

function QuestionField({ question: q, marked, change }: { question: Question; marked: Marked; change: (now: Marked) => void }) {
  const kind = q.multiple ? "checkbox" : "radio";
  const offers = !!q.options?.length;
  const onType = (e: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => change(type(q, marked, e.target.value));
  return (
    <fieldset>
      <legend>{q.question}{q.multiple && <span className="dim"> {text.request.several}</span>}</legend>
      {q.options?.map((o) => (
        <label key={o.label} className="option">
          <input type={kind} name={q.id} checked={marked.options.includes(o.label)} onChange={() => change(mark(q, marked, o.label))} />
          <span>{o.label} {o.description && <span className="dim">{o.description}</span>}</span>
        </label>
      ))}
      {(!offers || q.isOther) && (
        <label className="option">
          {offers && <input type={kind} name={q.id} aria-label={text.request.other} checked={marked.ownWords} onChange={() => change(markOwn(q, marked))} />}
          <span>{offers ? text.request.other : q.multiple ? text.request.lines : text.request.answer}</span>
          {q.multiple && !offers && !q.isSecret ? <textarea value={marked.typed} aria-label={q.question} onChange={onType} />
            : <input type={q.isSecret ? "password" : "text"} value={marked.typed} aria-label={q.question} onChange={onType} />}
        </label>
      )}
    </fieldset>
  );
}

function Questions({ questions, send, busy }: { questions: Question[]; send: (answers: Record<string, string[]> | null) => void; busy: boolean }) {
  const [marked, setMarked] = useState<Record<string, Marked>>({});
  const given = (q: Question) => answersTo(q, marked[q.id] ?? unmarked);
  const complete = questions.every((q) => q.optional || given(q).length > 0);
  return (
    <form onSubmit={(e) => { e.preventDefault(); if (complete) send(Object.fromEntries(questions.map((q) => [q.id, given(q)]))); }}>
      {questions.map((q) => <QuestionField key={q.id} question={q} marked={marked[q.id] ?? unmarked} change={(now) => setMarked({ ...marked, [q.id]: now })} />)}
      <div className="actions">
        <button type="submit" className="primary" disabled={!complete || busy}>{text.request.answer}</button>
        <button type="button" disabled={busy} onClick={() => send(null)}>{text.request.skip}</button>
      </div>
    </form>
  );
}

export type CardProps = { request: Request; name?: string; selected?: boolean; onSelect?: () => void; asking?: boolean; onAsk?: (on: boolean) => void; chosen?: boolean; onChoose?: () => void };

/** RequestCard is a request with the buttons that answer it. */
export function RequestCard({ request, name, selected, onSelect, asking, onAsk, chosen = false, onChoose }: CardProps) {
  const client = useClient();
  const now = useNow(1000);
  const appeared = useRef(Date.now());
  const reasonField = useRef<HTMLInputElement>(null);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  const [ownAsking, setOwnAsking] = useState(false);
  const asks = asking ?? ownAsking;
  const ask = onAsk ?? setOwnAsking;
  useEffect(() => {
    if (asks) reasonField.current?.focus();
  }, [asks]);
  const run = async (work: () => Promise<void>) => {
    setBusy(true);
    setFailure(null);
    try {
      await work();
    } catch (err) {
      setFailure(err instanceof Error ? err.message : String(err));
    } finally {
      setBusy(false);
    }
  };
  const click = (work: () => Promise<void>) => (e: React.MouseEvent) => {
    if (e.detail > 0 && Date.now() - appeared.current < inert) return; // it was meant for what was here before
    void run(work);
  };
  const may = client.may("work");
  const cwd = request.details.cwd ? String(request.details.cwd) : "";
  const changes = changesOf(request.details);
  return (
    <section className="request" data-request={request.id} data-selected={selected || undefined} aria-label={`${text.request.needs}: ${lineOf(request)}`} onClick={onSelect}>
      <header>
        {onChoose && <input type="checkbox" checked={chosen} aria-label={`${text.inbox.select}: ${lineOf(request)}`} onChange={onChoose} onClick={(e) => e.stopPropagation()} />}
        <strong className="needs">{name ?? text.request.needs}</strong> <span className="dim">{about(request)}</span>
        <span className="wait">{text.request.waiting} {clock(now - request.createdAt)}</span>
      </header>
      {request.kind !== "question" && <pre className="command" tabIndex={0}>{lineOf(request)}{cwd && <span className="dim">{"\n"}# in {cwd}</span>}</pre>}
      {typeof request.details.reason === "string" && request.details.reason && <p className="plain">{request.details.reason}</p>}
      {changes.length > 0 && <DiffView changes={changes} />}
      {request.kind === "approval" && may && (
        <div className="actions">
          {choices(request).map((choice) => (
            <button key={choice} type="button" disabled={busy} className={choice === "approve" ? "primary" : choice === "decline" ? "bad" : ""} data-choice={choice}
              onClick={click(() => decide(client, request, choice))}>
              {labels[choice][0]} <kbd>{labels[choice][1]}</kbd>
            </button>
          ))}
          <button type="button" disabled={busy} onClick={() => ask(!asks)}>{text.request.why} <kbd>R</kbd></button>
        </div>
      )}
      {asks && may && (
        <form className="actions" onSubmit={(e) => { e.preventDefault(); void run(() => decide(client, request, "decline", reason)); }}>
          <input ref={reasonField} value={reason} maxLength={4000} aria-label={text.request.reason} placeholder={text.request.reason} onChange={(e) => setReason(e.target.value)}
            onKeyDown={(e) => e.key === "Escape" && ask(false)} />
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
      {failure && <p className="failure" role="alert">{failure}</p>}
    </section>
  );
}
