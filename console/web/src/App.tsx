import { Link as To, Route, Router, Switch } from "wouter";
import type { Client } from "./client";
import { Extensions } from "./pages/Extensions";
import { Inbox } from "./pages/Inbox";
import { Events } from "./pages/Events";
import { Jobs } from "./pages/Jobs";
import { Login } from "./pages/Login";
import { Runtimes } from "./pages/Runtimes";
import { SessionList } from "./pages/SessionList";
import { SessionPage } from "./pages/SessionPage";
import { Settings } from "./pages/Settings";
import { Usage } from "./pages/Usage";
import { text } from "./text";
import { AgentTrouble } from "./ui/AgentTrouble";
import { Broken } from "./ui/Broken";
import { ClientContext, useClient, useSignal } from "./ui/hooks";
import { Shell } from "./ui/Shell";

/** First is the shell of index.html, until the server has answered. */
function First({ says }: { says: string }) {
  return <div className="first"><div><b>Harness</b><i /><i /><i /></div><div><p className="dim" role="status">{says}</p><i /><i /><i /></div></div>;
}

function Sessions({ id }: { id: string | null }) {
  return (
    <div className="sessions" data-picked={id !== null || undefined}>
      <SessionList current={id} />
      {id === null ? <div className="pick pad"><h1 className="unseen">{text.nav.sessions}</h1><p className="dim">{text.session.pick}</p><AgentTrouble /></div> : <SessionPage key={id} sessionId={id} />}
    </div>
  );
}

function Pages() {
  const client = useClient();
  useSignal(client.signal);
  if (client.state === "login") return <Login />;
  if (!client.me) return <First says={client.notice ?? text.link.first} />;
  return (
    <Shell>
      <Switch>
        <Route path="/"><Sessions id={null} /></Route>
        <Route path="/sessions"><Sessions id={null} /></Route>
        <Route path="/login"><Sessions id={null} /></Route>
        <Route path="/s/:id">{({ id }) => <Sessions id={decodeURIComponent(id)} />}</Route>
        <Route path="/inbox"><Inbox /></Route>
        <Route path="/jobs"><Jobs /></Route>
        <Route path="/events"><Events /></Route>
        <Route path="/usage"><Usage /></Route>
        <Route path="/extensions"><Extensions /></Route>
        <Route path="/runtimes"><Runtimes /></Route>
        <Route path="/settings"><Settings /></Route>
        <Route><p className="pad">{text.missing} <To href="/">{text.toSessions}</To></p></Route>
      </Switch>
    </Shell>
  );
}

export function App({ client }: { client: Client }) {
  const base = new URL(client.base).pathname.replace(/\/$/, "");
  return (
    <ClientContext.Provider value={client}>
      <Broken><Router base={base}><Pages /></Router></Broken>
    </ClientContext.Provider>
  );
}
