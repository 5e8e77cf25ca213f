import { useEffect, useRef, useState } from "react";
import { agentName } from "../core/entries";
import type { Open } from "../core/store";
import type { Image } from "../core/images";
import type { Session } from "../core/types";
import { text } from "../text";
import { Background } from "./Background";
import { useClient, useSignal } from "./hooks";
import { imagesOf, readImage } from "./images";
import { Pickers } from "./Pickers";
import { Queue } from "./Queue";

// The chosen effort, by session: it is sent with each message that starts a turn.
const effortOf = (sessionId: string) => `harness.effort.${sessionId}`;

export function Composer({ open, session }: { open: Open; session: Session | undefined }) {
  const client = useClient();
  const composing = client.composing(open);
  useSignal(open.signal);
  useSignal(client.drafts.offered);
  useSignal(composing.signal);
  const [effort, setEffort] = useState(() => localStorage.getItem(effortOf(open.sessionId)) ?? "");
  const field = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const running = !!session?.activeTurnId;
  const takesImages = open.capabilities.images === true;
  const { text: draft, images, failure, busy } = composing;
  useEffect(() => {
    const el = field.current;
    if (!el) return; // who may only read has no field
    el.style.height = "auto";
    el.style.height = `${Math.min(el.scrollHeight, 240)}px`;
  }, [draft]);

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
  const chooseEffort = (chosen: string) => {
    setEffort(chosen);
    if (chosen) localStorage.setItem(effortOf(open.sessionId), chosen);
    else localStorage.removeItem(effortOf(open.sessionId));
  };
  // While a turn runs a message waits for its end, unless it is to steer.
  const send = (steer = false) => void composing.send({ effort, steer });
  if (!client.may("work")) return <p className="composer dim pad">{text.composer.viewer}</p>;
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
      <Background sessionId={open.sessionId} tasks={session?.activity?.background ?? []} onFailure={(why) => composing.fail(why)} />
      <Queue open={open} onFailure={(why) => composing.fail(why)} />
      {images.length > 0 && (
        <ul className="attached" aria-label={text.composer.images}>
          {images.map((image, i) => (
            <li key={i}>
              <img src={image.url} alt={image.name} />
              {image.failure !== null ? <span className="failure" role="alert">{image.failure}</span>
                : image.progress < 1 && <progress value={image.progress} aria-label={text.composer.uploading(image.name)} />}
              <button type="button" aria-label={text.composer.detach(image.name)} onClick={() => detach(image)}>×</button>
            </li>
          ))}
        </ul>
      )}
      <textarea
        ref={field} rows={2} value={draft} aria-label={text.composer.label} placeholder={(running ? text.composer.running : text.composer.idle)(agentName(session?.runtime ?? ""))}
        onChange={(e) => composing.write(e.target.value)}
        onPaste={(e) => {
          const pasted = imagesOf(e.clipboardData);
          if (!takesImages || pasted.length === 0) return;
          e.preventDefault();
          void attach(pasted);
        }}
        onKeyDown={(e) => {
          // While an input method composes, Enter chooses a word.
          if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing || e.keyCode === 229) return;
          e.preventDefault();
          send(e.ctrlKey || e.metaKey);
        }}
      />
      <div className="composer-bar">
        {takesImages && (
          <>
            <input ref={files} type="file" accept="image/*" multiple hidden onChange={(e) => { void attach([...(e.target.files ?? [])]); e.target.value = ""; }} />
            <button type="button" className="picker" onClick={() => files.current?.click()}>{text.composer.attach}</button>
          </>
        )}
        <Pickers open={open} session={session} effort={effort} onEffort={chooseEffort} onFailure={(why) => composing.fail(why)} />
        {running && <button type="button" className="picker" disabled={draft.trim() === ""} onClick={() => send(true)}>{text.composer.steer}</button>}
        <button type="submit" className="primary" disabled={draft.trim() === ""}>{running ? text.composer.queue : text.composer.send}</button>
      </div>
    </form>
  );
}
