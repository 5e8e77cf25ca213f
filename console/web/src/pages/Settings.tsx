import { useState } from "react";
import { Link as To } from "wouter";
import { text } from "../text";
import { useClient, useSignal } from "../ui/hooks";
import { allow, beep } from "../ui/Notify";
import { pages } from "../ui/pages";
import { usePreferences } from "../ui/preferences";
import { PushSwitch } from "../ui/PushSwitch";
import { ServerSettings } from "./ServerSettings";

/** Settings shows the user's preferences in this browser, the user's identity, and the server's settings. */
export function Settings() {
  const client = useClient();
  useSignal(client.signal);
  const [preferences, change] = usePreferences();
  const [refused, setRefused] = useState(false);
  const notify = async (wanted: boolean) => {
    const on = wanted && (await allow());
    setRefused(wanted && !on);
    change({ notify: on ? "on" : "off" });
  };
  const { me } = client;
  return (
    <div className="settings scroll">
      <header className="head"><h1>{text.settings.title}</h1></header>
      <div className="pad form">
        <label>
          {text.settings.language}
          <select className="picker" value={preferences.language} onChange={(e) => { change({ language: e.target.value as typeof preferences.language }); location.reload(); }}>
            <option value="system">{text.settings.system}</option>
            <option value="en" lang="en">English</option>
            <option value="de" lang="de">Deutsch</option>
          </select>
        </label>
        <fieldset>
          <legend>{text.settings.theme}</legend>
          {(["system", "light", "dark"] as const).map((theme) => (
            <label key={theme} className="option"><input type="radio" name="theme" checked={preferences.theme === theme} onChange={() => change({ theme })} /> {text.settings[theme]}</label>
          ))}
        </fieldset>
        <label className="option"><input type="checkbox" checked={preferences.keys} onChange={(e) => change({ keys: e.target.checked })} /> <span>{text.settings.keys} <span className="dim">{text.settings.keysNote}</span></span></label>
        <fieldset>
          <legend>{text.notify.title}</legend>
          <label className="option"><input type="checkbox" checked={preferences.notify === "on"} onChange={(e) => void notify(e.target.checked)} /> {text.notify.on}</label>
          <label className="option"><input type="checkbox" checked={preferences.sound} onChange={(e) => change({ sound: e.target.checked })} /> {text.notify.sound} <button type="button" className="quiet" onClick={beep}>{text.notify.try}</button></label>
          {refused && <p className="failure" role="alert">{text.notify.refused}</p>}
          <PushSwitch />
        </fieldset>
        <p className="dim">{text.settings.saved}</p>
        {me && (
          <section>
            <h2>{text.settings.who}</h2>
            <p><strong>{me.name ?? me.actor}</strong> <span className="dim" title={me.role}>({text.settings.roles[me.role] ?? me.role})</span></p>
            <p>{text.settings.may[me.role] ?? me.allowed.join(", ")}</p>
            {me.login && <button type="button" onClick={() => void client.logout()}>{text.settings.logout}</button>}
          </section>
        )}
        {client.may("administer") && <ServerSettings />}
        <section>
          <h2>{text.operator.more}</h2>
          <ul className="plain-list">
            {pages.filter((p) => p.minor).map((p) => <li key={p.name}><To href={p.path}>{p.label}</To></li>)}
            <li><a href="api/docs">{text.settings.api}</a></li>
          </ul>
        </section>
      </div>
    </div>
  );
}
