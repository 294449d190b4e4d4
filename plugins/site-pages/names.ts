/** The pages, by the names that are their paths, in the order of their links. */
export const NAMES = ['guidelines', 'help', 'privacy', 'terms', 'imprint'] as const;
export type PageName = (typeof NAMES)[number];
/** For these the program brings a text. */
export const OWN_TEXTS: readonly PageName[] = ['guidelines', 'help', 'privacy'];
