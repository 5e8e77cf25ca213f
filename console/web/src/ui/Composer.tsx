import { useEffect, useRef, useState } from "react";
import { agentName } from "../core/entries";
import type { Image } from "../core/images";
import type { Open } from "../core/store";
import type { Session } from "../core/types";
import { text } from "../text";
import { Access } from "./Access";
import { useClient, useSignal } from "./hooks";
import { Icon } from "./Icon";
import { imagesOf, readImage } from "./images";
import { useMention } from "./Mention";
import { Menu } from "./Menu";

// The chosen effort, by session: it is sent with each message that starts a turn.
const effortOf = (sessionId: string) => `harness.effort.${sessionId}`;

/** How high the field grows, in px. */
const highest = 240;

/** useImages attaches pictures to the message that is written, and takes them off. */
function useImages(open: Open) {
  const client = useClient();
  const composing = client.composing(open);
  const attach = async (chosen: File[]) => {
    composing.fail(null);
    for (const file of chosen) {
      try {
        const image = await readImage(file);
        if (!image) return composing.fail(text.composer.noRoom(file.name));
        composing.attach(file.name, URL.createObjectURL(image), (progress) => client.upload(open, file.name, image, progress));
      } catch {
        composing.fail(text.composer.noImage(file.name));
      }
    }
  };
  const detach = (image: Image) => {
    composing.detach(image);
    URL.revokeObjectURL(image.url);
  };
  return { attach, detach };
}

function Attached({ images, detach }: { images: Image[]; detach: (image: Image) => void }) {
  if (images.length === 0) return null;
  return (
    <ul className="attached" aria-label={text.composer.images}>
      {images.map((image, i) => (
        <li key={i}>
          <img src={image.url} alt={image.name} />
          {image.failure !== null ? <span className="failure" role="alert">{image.failure}</span>
            : image.progress < 1 && <progress value={image.progress} aria-label={text.composer.uploading(image.name)} />}
          <button type="button" className="icon" aria-label={text.composer.detach(image.name)} onClick={() => detach(image)}><Icon name="x" /></button>
        </li>
      ))}
    </ul>
  );
}

type ComposerProps = { open: Open; session: Session | undefined; stop: () => void };

/** Composer is the field for messages: one row of controls below it. */
export function Composer({ open, session, stop }: ComposerProps) {
  const client = useClient();
  const composing = client.composing(open);
  useSignal(open.signal);
  useSignal(client.drafts.offered);
  useSignal(composing.signal);
  const [effort, setEffort] = useState(() => localStorage.getItem(effortOf(open.sessionId)) ?? "");
  const field = useRef<HTMLTextAreaElement>(null);
  const { attach, detach } = useImages(open);
  const running = !!session?.activeTurnId;
  const takesImages = open.capabilities.images === true;
  const { text: draft, images, failure, busy } = composing;
  const mention = useMention({ sessionId: open.sessionId, field, draft, write: (text) => composing.write(text) });
  useEffect(() => {
    const el = field.current;
    if (!el) return; // who may only read has no field
    el.style.height = "auto";
    el.style.height = `${Math.min(el.scrollHeight, highest)}px`;
  }, [draft]);
  const chooseEffort = (chosen: string) => {
    setEffort(chosen);
    if (chosen) localStorage.setItem(effortOf(open.sessionId), chosen);
    else localStorage.removeItem(effortOf(open.sessionId));
  };
  // While a turn runs a message is queued until its end, unless it is to steer.
  const send = (steer = false) => void composing.send({ effort, steer });
  if (!client.may("work")) return <p className="composer view-only dim">{text.composer.viewer}</p>;
  const agent = agentName(session?.runtime ?? "");
  const placeholder = session?.state === "waiting" ? text.talk.next(agent) : (running ? text.composer.running : text.composer.idle)(agent);
  return (
    <form className="composer" aria-busy={busy} onSubmit={(e) => { e.preventDefault(); send(); }}
      onDragOver={(e) => takesImages && e.preventDefault()}
      onDrop={(e) => {
        const dropped = imagesOf(e.dataTransfer);
        if (!takesImages || dropped.length === 0) return;
        e.preventDefault();
        void attach(dropped);
      }}>
      {failure && <p className="failure" role="alert">{failure}</p>}
      <Attached images={images} detach={detach} />
      {mention.list}
      <textarea
        ref={field} rows={1} value={draft} aria-label={text.composer.label} placeholder={placeholder} {...mention.described}
        onChange={(e) => { composing.write(e.target.value); mention.follow(e.target.selectionStart); }}
        onBlur={() => mention.follow(null)}
        onClick={() => mention.follow(null)}
        onPaste={(e) => {
          const pasted = imagesOf(e.clipboardData);
          if (!takesImages || pasted.length === 0) return;
          e.preventDefault();
          void attach(pasted);
        }}
        onKeyDown={(e) => {
          if (mention.onKey(e)) return;
          // While an input method composes, Enter chooses a word.
          if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing || e.keyCode === 229) return;
          e.preventDefault();
          send(e.ctrlKey || e.metaKey);
        }}
      />
      <div className="composer-bar">
        {takesImages && <Attach attach={attach} />}
        <button type="button" className="icon ghost wide-only" aria-label={text.files.mention} title={text.files.mention} onClick={mention.begin}><Icon name="at-sign" /></button>
        <Access open={open} session={session} effort={effort} onEffort={chooseEffort} onFailure={(why) => composing.fail(why)} />
        <span className="grow" />
        {running && <button type="button" className="icon bad phone-stop" aria-label={text.session.stop} onClick={stop}><Icon name="circle-stop" /></button>}
        <Send running={running} disabled={draft.trim() === ""} send={send} />
      </div>
    </form>
  );
}

function Attach({ attach }: { attach: (chosen: File[]) => Promise<void> }) {
  const files = useRef<HTMLInputElement>(null);
  return (
    <>
      <input ref={files} type="file" accept="image/*" multiple hidden onChange={(e) => { void attach([...(e.target.files ?? [])]); e.target.value = ""; }} />
      <button type="button" className="icon ghost" aria-label={text.composer.attach} title={text.composer.attach} onClick={() => files.current?.click()}><Icon name="paperclip" /></button>
    </>
  );
}

function Send({ running, disabled, send }: { running: boolean; disabled: boolean; send: (steer?: boolean) => void }) {
  const label = running ? text.composer.queue : text.composer.send;
  const button = <button type="submit" className="primary send" aria-label={label} disabled={disabled}><Icon name="arrow-up" /><span className="wide-only">{label}</span></button>;
  if (!running) return button;
  return (
    <span className="split primary">
      {button}
      <Menu label={text.talk.moreSend} className="primary" disabled={disabled} items={[{ label: text.composer.queue, run: () => send() }, { label: text.composer.steer, run: () => send(true) }]}><Icon name="chevron-down" /></Menu>
    </span>
  );
}
