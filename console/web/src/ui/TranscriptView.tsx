import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { Virtualizer, type VirtualizerHandle } from "virtua";
import type { Open } from "../core/store";
import { partsOf } from "../core/entries";
import { text } from "../text";
import { DecidedTogether, EntryView, Fold } from "./EntryView";
import { useClient, useList, useSignal } from "./hooks";
import { Who } from "./Who";

/** How far from the edge the next window is read, in px. */
const prefetch = 1500;

// The reading position, by session: the first entry on screen, or the end.
const places = new Map<string, number>();

/** TranscriptView shows the part of a transcript near the screen, and follows its end until the user scrolls up. */
export function TranscriptView({ open, running }: { open: Open; running: boolean }) {
  const client = useClient();
  const { transcript } = open;
  useList(transcript);
  useSignal(open.signal);
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  const following = useRef(!places.has(open.sessionId) && open.at === null);
  const [follows, setFollows] = useState(following.current);
  const seen = useRef(transcript.ids.length);
  const parts = useMemo(
    () => partsOf(transcript.ids, (id) => transcript.rows.get(id)!.entry, running),
    [transcript, transcript.rev, running],
  );

  const follow = useCallback((on: boolean) => {
    if (following.current === on) return;
    following.current = on;
    seen.current = transcript.ids.length;
    setFollows(on);
  }, [transcript]);
  const toEnd = useCallback(() => {
    const el = box.current;
    if (el) el.scrollTop = el.scrollHeight;
  }, []);

  useLayoutEffect(() => {
    if (following.current) list.current?.scrollToIndex(parts.length - 1, { align: "end" });
  }, [parts.length]);
  useEffect(() => {
    const observer = new ResizeObserver(() => {
      if (following.current) toEnd();
    });
    observer.observe(inner.current!);
    observer.observe(box.current!);
    const place = places.get(open.sessionId);
    if (place !== undefined) box.current!.scrollTop = place;
    const el = box.current!;
    return () => {
      observer.disconnect();
      if (following.current) places.delete(open.sessionId);
      else places.set(open.sessionId, el.scrollTop);
    };
  }, [open.sessionId, toEnd]);

  const end = open.at === null && follows && transcript.newer === null;
  useEffect(() => {
    client.looking = end ? open.sessionId : null;
    const look = () => {
      const last = transcript.lastComplete();
      if (end && last && document.hasFocus()) client.read(open, last);
    };
    look();
    addEventListener("focus", look);
    return () => {
      client.looking = null;
      removeEventListener("focus", look);
    };
  }, [client, open, transcript, transcript.rev, end]);

  const place = open.at === null ? -1 : parts.findIndex((part) => part.ids.includes(open.at!));
  const shown = useRef<string | null>(null);
  useEffect(() => {
    if (place < 0 || shown.current === open.at) return;
    shown.current = open.at;
    follow(false);
    list.current?.scrollToIndex(place, { align: "center" });
  }, [place, open.at, follow]);

  const onScroll = () => {
    const el = box.current!;
    const below = el.scrollHeight - el.scrollTop - el.clientHeight;
    if (below <= 4 && transcript.newer === null && place < 0) follow(true);
    if (el.scrollTop < prefetch) void client.transcripts.more(open, "older");
    if (below < prefetch) void client.transcripts.more(open, "newer");
  };
  const missed = follows ? 0 : Math.max(0, transcript.ids.length - seen.current);
  const newest = async () => {
    client.transcripts.show(open, null);
    if (transcript.newer !== null) await client.transcripts.read(open); // the window is far from the end
    follow(true);
    list.current?.scrollToIndex(transcript.ids.length, { align: "end" }); // it ends a scroll to another entry that waits for sizes
    requestAnimationFrame(toEnd); // messages that are being sent stand below the list
  };

  return (
    <div className="transcript">
      <div
        className="scroll" ref={box} role="log" aria-live="off" aria-label={text.session.transcript} tabIndex={0}
        onScroll={onScroll}
        onWheel={(e) => e.deltaY < 0 && follow(false)}
        onTouchMove={() => follow(false)}
        onKeyDown={(e) => {
          if (e.target !== e.currentTarget) return;
          if (["PageUp", "Home", "ArrowUp"].includes(e.key)) follow(false);
          if (e.key === "End") void newest();
        }}
      >
        <div ref={inner}>
          {transcript.older !== null && <p className="dim center">{text.session.older}</p>}
          <Virtualizer ref={list} scrollRef={box} shift={transcript.shift} data={parts}>
            {(part, i) => (
              <div key={part.key}>
                {i > 0 && open.newBehind !== null && parts[i - 1]!.ids.includes(open.newBehind) && <p className="new-behind" role="separator">{text.session.newBehind}</p>}
                {part.fold ? <Fold transcript={transcript} ids={part.ids} /> : part.ids.length > 1 ? <DecidedTogether transcript={transcript} ids={part.ids} /> : <EntryView transcript={transcript} id={part.ids[0]!} marked={part.ids[0] === open.at} />}
              </div>
            )}
          </Virtualizer>
          {parts.length === 0 && open.sending.length === 0 && !open.loading && <p className="dim center empty">{text.session.empty}</p>}
          {open.sending.map((message) => (
            <article key={message.key} className="entry user sending"><Who name={client.me?.name || text.request.you} /><div className="said">{message.text}</div><p className="line">{text.session.sending}</p></article>
          ))}
        </div>
      </div>
      {!follows && <button type="button" className="follow" onClick={() => void newest()}>{missed > 0 ? text.session.follow(missed) : text.session.bottom}</button>}
    </div>
  );
}
