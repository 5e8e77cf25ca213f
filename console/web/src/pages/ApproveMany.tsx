import { useState } from "react";
import type { Request } from "../core/types";
import { text } from "../text";
import { decide } from "../ui/decide";
import { Dialog } from "../ui/Dialog";
import { useClient } from "../ui/hooks";
import { lineOf } from "../ui/Request";

/** ApproveMany approves what was selected, after it has listed what that is. */
export function ApproveMany({ requests, done }: { requests: Request[]; done: () => void }) {
  const client = useClient();
  const [listed, setListed] = useState<Request[] | null>(null);
  const [busy, setBusy] = useState(false);
  if (requests.length === 0 && !listed) return null;
  const approve = async () => {
    setBusy(true);
    const outcomes = await Promise.allSettled(listed!.map((request) => decide(client, request, "approve")));
    const failed = outcomes.filter((o) => o.status === "rejected");
    if (failed.length > 0) client.say(text.inbox.notAll(failed.length) + String((failed[0]!.reason as Error).message));
    setBusy(false);
    setListed(null);
    done();
  };
  return (
    <>
      <button type="button" className="primary" onClick={() => setListed(requests)}>{text.inbox.approveSelected(requests.length)}</button>
      {listed && (
        <Dialog title={text.inbox.approveSelected(listed.length)} close={() => setListed(null)}>
          <p className="dialog-text">{text.inbox.willApprove}</p>
          <ul className="will">{listed.map((request) => <li key={request.id}><strong>{client.store.sessions.get(request.threadId)?.title ?? request.threadId}</strong><pre tabIndex={0}>{lineOf(request)}</pre></li>)}</ul>
          <div className="actions">
            <button type="button" className="primary" disabled={busy} onClick={() => void approve()}>{text.request.approve}</button>
            <button type="button" onClick={() => setListed(null)}>{text.session.cancel}</button>
          </div>
        </Dialog>
      )}
    </>
  );
}
