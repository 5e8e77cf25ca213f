// The texts of the page in its language. Another language than English is loaded before anything that uses a text.
import { text as en, type Texts } from "./en";
import { language } from "./language";
import { counted } from "./plural";

export const text: Texts = language === "de" ? (await import("./de")).german(counted) : en;
