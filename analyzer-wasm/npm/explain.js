// The diagnoses' pages, apart from the module: a program that does not show
// them need not load them.
import pages from "./pages.js";

export const explain = (code) => (Object.hasOwn(pages, code) ? pages[code] : undefined);
