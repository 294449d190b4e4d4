import { defineExtensionPoint, defineToken } from 'parley-forum';
import type { Viewer } from 'parley-forum/plugins/access';

/** A form that somebody writes in. */
export interface DraftForm {
  /** Of what the text belongs to; null where that has no title, or is new. */
  readonly title: string | null;
  readonly path: string;
  /** Where on its page the form stands, with the `#`. */
  readonly hash?: string;
}

/** The forms of a plugin whose drafts are kept on the server, beside those of discussions and posts. */
export interface DraftForms {
  /** Before the first `-` of their keys. */
  readonly kind: string;
  /** Key of a text: what such a draft is. */
  readonly label: string;
  /** Those forms that these keys name, by key; without what the viewer may not see. A constant number of statements. */
  find(keys: readonly string[], viewer: Viewer): Promise<ReadonlyMap<string, DraftForm>>;
}
export const draftForms = defineExtensionPoint<DraftForms>(
  'drafts.forms',
  'Forms besides those of discussions and posts whose drafts are kept on the server, for their writers alone.',
);

/** What members began to write. */
export interface Drafts {
  /** What is filled into the form of this key, by field; undefined where nothing is. */
  values(key: string, viewer: Viewer): Promise<Readonly<Record<string, unknown>> | undefined>;
  /** A text was sent: drafts under these keys that have it go, others stay. */
  sent(userId: string, keys: readonly string[], content: string): Promise<void>;
}
export const Drafts = defineToken<Drafts>('Drafts');
