import type { ProfileRecord } from 'parley-forum/plugins/profiles';

/** A profile as stored. */
export interface Profile {
  readonly about: string;
  readonly html: string;
  readonly place: string;
  readonly links: readonly string[];
  readonly updatedAt: Date | null;
}
export const EMPTY: Profile = { about: '', html: '', place: '', links: [], updatedAt: null };

export const isEmpty = ({ about, place, links }: Profile): boolean =>
  about === '' && place === '' && links.length === 0;

export const recordOf = ({ about, html, place, links, updatedAt }: Profile): ProfileRecord => ({
  about,
  about_html: html,
  place,
  links: [...links],
  updated_at: updatedAt?.toISOString() ?? null,
});
