/** The pages by name, which is also their path, in the order of their links. */
export const NAMES = ['guidelines', 'help', 'privacy', 'terms', 'imprint'] as const;
export type PageName = (typeof NAMES)[number];
/** The pages for which the program comes with a text. */
export const OWN_TEXTS: readonly PageName[] = ['guidelines', 'help', 'privacy'];
