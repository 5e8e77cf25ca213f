import { useState } from "react";
import { Link as To } from "wouter";
import { actorName, initials } from "../core/names";
import { text } from "../text";
import { useClient, useSignal } from "../ui/hooks";
import { Icon } from "../ui/Icon";
import { allow, beep } from "../ui/Notify";
import { pages } from "../ui/pages";
import { usePreferences } from "../ui/preferences";
import { PushSwitch } from "../ui/PushSwitch";
import { Section, Setting, Switch } from "../ui/Setting";
import { useShell } from "../ui/shellContext";
import { Projects } from "./Projects";
import { DefaultSettings, ServerSettings } from "./ServerSettings";
import { Tokens } from "./Tokens";

const words = text.set;

/** You is who looks and what that role may do. */
function You() {
  const client = useClient();
  useSignal(client.signal);
  const { me } = client;
  if (!me) return null;
  const name = me.name ?? actorName(me.actor);
  return (
    <Section title={text.settings.who}>
      <li>
        <span className="avatar" aria-hidden="true">{initials(name)}</span>
        <span className="grow">{name}<p><span title={me.role}>{text.settings.roles[me.role] ?? me.role}</span> · {text.settings.may[me.role] ?? me.allowed.join(", ")}</p></span>
        {me.login && <button type="button" onClick={() => void client.logout()}><Icon name="log-out" />{text.settings.logout}</button>}
      </li>
    </Section>
  );
}

function General() {
  const client = useClient();
  const [{ theme, language, keys, still }, change] = usePreferences();
  const { show } = useShell();
  return (
    <>
      <You />
      <Section title={words.appearance}>
        <Setting label={text.settings.theme}>
          <span className="seg" role="radiogroup" aria-label={text.settings.theme}>
            {(["system", "light", "dark"] as const).map((one) => <label key={one}><input type="radio" name="theme" checked={theme === one} onChange={() => change({ theme: one })} />{text.settings[one]}</label>)}
          </span>
        </Setting>
        <Setting label={<label htmlFor="language">{text.settings.language}</label>}>
          <select id="language" value={language} onChange={(e) => { change({ language: e.target.value as typeof language }); location.reload(); }}>
            <option value="system">{text.settings.system}</option>
            <option value="en" lang="en">English</option>
            <option value="de" lang="de">Deutsch</option>
          </select>
        </Setting>
        <Switch label={words.still} note={words.stillNote} on={still} change={(on) => change({ still: on })} />
      </Section>
      <Section title={words.keyboard}>
        <Switch label={text.settings.keys} note={text.settings.keysNote} on={keys} change={(on) => change({ keys: on })} />
        <Setting label={words.allKeys}><button type="button" onClick={() => show("keys")}>{words.show} <kbd>?</kbd></button></Setting>
      </Section>
      <p className="small dim">{text.settings.saved} {client.may("administer") && <>{words.others} <To href="/settings/server">{text.side.server}</To>.</>} <a href="api/docs">{text.settings.api}</a></p>
    </>
  );
}

function Notifications() {
  const [{ notify: kept, sound }, change] = usePreferences();
  const [refused, setRefused] = useState(false);
  const notify = async (wanted: boolean) => {
    const on = wanted && (await allow());
    setRefused(wanted && !on);
    change({ notify: on ? "on" : "off" });
  };
  return (
    <>
      <Section title={text.notify.title}>
        <Switch label={text.notify.on} on={kept === "on"} change={(on) => void notify(on)} />
        <Switch label={text.notify.sound} on={sound} change={(on) => change({ sound: on })} beside={<button type="button" onClick={beep}>{text.notify.try}</button>} />
        <PushSwitch />
      </Section>
      {refused && <p className="failure" role="alert">{text.notify.refused}</p>}
      <p className="small dim">{text.settings.saved}</p>
    </>
  );
}

const topics = { general: General, notifications: Notifications, defaults: DefaultSettings, people: Tokens, projects: Projects, server: ServerSettings };

/** Settings is one page a topic: of this browser, or of the server for those who administer it. */
export function Settings({ topic }: { topic: string }) {
  const client = useClient();
  useSignal(client.signal);
  const page = pages.find((p) => p.in === "settings" && p.name === topic);
  const Topic = topics[topic as keyof typeof topics];
  if (!page || !Topic) return <p className="pad">{text.missing}</p>;
  return (
    <div className="operator">
      <header className="head"><h1>{page.label}</h1></header>
      <div className="scroll"><div className="set">{page.needs && !client.may(page.needs) ? <p>{words.needs[page.needs]}</p> : <Topic />}</div></div>
    </div>
  );
}
