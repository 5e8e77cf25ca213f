import { useEffect, useRef, useState } from "react";
import type { Aim } from "../core/requestKeys";
import type { Request } from "../core/types";
import { text } from "../text";
import { choices, type Choice } from "./decide";
import { Icon } from "./Icon";
import { Menu, type Item } from "./Menu";
import type { useRequestKeys } from "./useRequestKeys";

export const labels: Record<Aim, string> = {
  approve: text.request.approve, session: text.request.session, always: text.request.always, decline: text.request.decline, reason: text.request.why,
};

type DecisionsProps = {
  request: Request;
  busy: boolean;
  keys: ReturnType<typeof useRequestKeys>;
  /** Whether the reason is asked for. */
  asks: boolean;
  ask: (asks: boolean) => void;
  /** A click: it does nothing on a card that has only just appeared. */
  click: (work: () => void) => (e: React.MouseEvent) => void;
  decide: (choice: Choice, reason?: string) => void;
};

/** Decisions approve and decline; what goes further than once, and a reason, are behind the arrows. */
export function Decisions({ request, busy, keys, asks, ask, click, decide }: DecisionsProps) {
  const further = choices(request).filter((choice) => choice === "session" || choice === "always");
  const item = (aim: "session" | "always"): Item => ({ label: labels[aim], run: () => decide(aim), hint: keys.hint(aim) });
  const aimed = (...aims: Aim[]) => ({ "data-aim": (keys.aim !== null && aims.includes(keys.aim)) || undefined });
  return (
    <>
      <div className="actions">
        <span className="split primary">
          <button type="button" className="primary" disabled={busy} data-choice="approve" {...aimed("approve")} onClick={click(() => decide("approve"))}>{labels.approve} {keys.hint("approve")}</button>
          {further.length > 0 && <Menu label={text.talk.moreApprove} className="primary" disabled={busy} data={{ "data-more": "approve", ...aimed("session", "always") }} items={further.map((aim) => item(aim as "session"))}><Icon name="chevron-down" /></Menu>}
        </span>
        <span className="split">
          <button type="button" className="bad" disabled={busy} data-choice="decline" {...aimed("decline")} onClick={click(() => decide("decline"))}>{labels.decline} {keys.hint("decline")}</button>
          <Menu label={text.talk.moreDecline} className="bad" disabled={busy} data={{ "data-more": "decline", ...aimed("reason") }} items={[{ label: labels.reason, run: () => ask(true), hint: keys.hint("reason") }]}><Icon name="chevron-down" /></Menu>
        </span>
        {keys.aim && <span className="aim">{text.request.aims[keys.aim]} · {text.request.cancels}</span>}
      </div>
      {asks && <Reason busy={busy} close={() => ask(false)} send={(reason) => decide("decline", reason)} />}
    </>
  );
}

function Reason({ busy, close, send }: { busy: boolean; close: () => void; send: (reason: string) => void }) {
  const [reason, setReason] = useState("");
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <form className="actions" onSubmit={(e) => { e.preventDefault(); send(reason); }}>
      <input ref={field} value={reason} maxLength={4000} aria-label={text.request.reason} placeholder={text.request.reason} onChange={(e) => setReason(e.target.value)}
        onKeyDown={(e) => {
          if (e.key !== "Escape" || e.nativeEvent.isComposing) return;
          e.stopPropagation();
          close();
        }} />
      <button type="submit" className="bad" disabled={busy}>{text.request.decline}</button>
      <button type="button" className="ghost" onClick={close}>{text.session.cancel}</button>
    </form>
  );
}
