import { Link } from "wouter";
import type { Answer } from "../api/answers";
import { text } from "../text";
import { useClient } from "../ui/hooks";
import { useAnswer } from "../ui/useAnswer";

type Written = Answer<"/api/sessions/{sessionId}/blame">;

/** Blame lists which turns wrote the lines of a file of the session's folder. */
export function Blame({ sessionId, path, tree }: { sessionId: string; path: string; tree: string }) {
  const client = useClient();
  const at = `/api/sessions/${encodeURIComponent(sessionId)}/blame?path=${encodeURIComponent(path)}`;
  const asked = useAnswer(() => client.api.get<Written>(at), [at, tree]);
  if (asked.failure) return <p className="bad small" role="alert">{asked.failure}</p>;
  if (!asked.answer || asked.answer.path !== path) return <p className="dim">{text.session.loading}</p>;
  return (
    <ul className="blame small" aria-label={text.talk.whoWrote}>
      {asked.answer.lines.map((lines) => (
        <li key={lines.from}>
          <span className="dim num">{lines.from === lines.to ? lines.from : `${lines.from}–${lines.to}`}</span>
          <span className="grow">
            {!lines.certain ? text.talk.unclear : !lines.turnId ? text.talk.noTurn : lines.prompt?.split("\n")[0] ?? lines.turnId}
            {lines.certain && lines.decidedBy && <span className="dim"> · {text.talk.allowedBy(client.nameOf(lines.decidedBy.actor, lines.decidedBy.name))}</span>}
            {lines.certain && lines.sessionId && lines.sessionId !== sessionId && <> · <Link href={`/s/${lines.sessionId}`}>{text.talk.otherSession}</Link></>}
          </span>
        </li>
      ))}
    </ul>
  );
}
