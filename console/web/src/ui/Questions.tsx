import { useState } from "react";
import { answersTo, mark, markOwn, type, unmarked, type Marked } from "../core/questions";
import type { Question } from "../core/types";
import { text } from "../text";

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

/** Questions are those of an agent, with fields for the answers. */
export function Questions({ questions, send, busy }: { questions: Question[]; send: (answers: Record<string, string[]> | null) => void; busy: boolean }) {
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
