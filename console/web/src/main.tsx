import { createRoot } from "react-dom/client";
import { App } from "./App";
import { Client } from "./client";
import { language } from "./text/language";
import "./ui/tokens.css";
import "./ui/base.css";
import "./ui/shell.css";
import "./ui/session.css";
import "./ui/transcript.css";
import "./ui/operator.css";

document.documentElement.lang = language;
const client = new Client(document.baseURI);
createRoot(document.getElementById("root")!).render(<App client={client} />);
void client.enter();
