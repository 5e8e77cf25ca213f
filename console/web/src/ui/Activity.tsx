import { useRef } from "react";
import { activityOf } from "../core/activity";
import type { Open } from "../core/store";
import { clock, timeOf } from "../core/time";
import { startOf } from "../core/turns";
import type { Session } from "../core/types";
import { text } from "../text";
import { useClient, useList, useNow, useSignal } from "./hooks";
import { Icon } from "./Icon";

/** useTurnClock is how long the running turn takes, in ms; it stands while the connection is lost. null: no turn runs. */
export function useTurnClock(open: Open, session: Session | undefined): { took: number; lostAt: number | null } | null {
  const client = useClient();
  useSignal(client.signal);
  useList(open.transcript);
  const { lostAt } = client;
  const turn = session?.activeTurnId ?? "";
  const seen = useRef({ turn: "", at: 0 });
  if (seen.current.turn !== turn) seen.current = { turn, at: Date.now() };
  const now = useNow(1000, turn !== "" && lostAt === null);
  if (turn === "") return null;
  return { took: (lostAt ?? now) - (startOf(open.transcript, turn) ?? seen.current.at), lostAt };
}

/** Activity is what the agent does, how long its turn takes, and the button that stops it. */
export function Activity({ open, session, stop, escaped }: { open: Open; session: Session | undefined; stop: () => void; escaped: boolean }) {
  const client = useClient();
  const turn = useTurnClock(open, session);
  if (!turn || !session) return null;
  const waits = session.state === "waiting";
  const does = turn.lostAt !== null ? text.link.runningAt(text.states.running ?? "", timeOf(turn.lostAt)) : waits ? text.talk.waits : activityOf(open.transcript, session.activeTurnId!);
  return (
    <div className="activity" data-waits={waits || undefined}>
      <span className={waits ? "state waiting" : "state running"} aria-hidden="true" />
      <span className="clip">{does}</span>
      {turn.lostAt === null && <span className="num">· {text.talk.turn(clock(turn.took))}</span>}
      <span className="grow" />
      {escaped && <span className="dim">{text.session.escape}</span>}
      {client.may("work") && <button type="button" className="bad stop" disabled={turn.lostAt !== null} onClick={stop}><Icon name="circle-stop" />{text.session.stop}</button>}
    </div>
  );
}
