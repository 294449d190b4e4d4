import { defineAction, definePermission, Type, type Static } from 'parley-forum';
import { nullable, Time } from 'parley-forum/plugins/api';

/** The maximum length of the text, the place and each link in characters, and the maximum number of links. */
export const MAX_ABOUT = 2_000;
export const MAX_PLACE = 60;
export const MAX_LINK = 200;
export const MAX_LINKS = 5;

/** What a member says about themselves; empty if nothing. */
export const ProfileRecord = Type.Object({
  about: Type.String({ description: 'Markdown' }),
  about_html: Type.String(),
  place: Type.String(),
  links: Type.Array(Type.String()),
  updated_at: nullable(Time),
});
export type ProfileRecord = Static<typeof ProfileRecord>;

/** `profile.updated`: a member's profile changed. Also raised when a moderator cleared it. */
export const profileUpdated = defineAction<{ readonly user: { readonly id: string } }>('profile.updated', {
  public: Type.Object({ user: Type.Object({ id: Type.String() }) }),
});
/** A moderator cleared another member's profile. */
export const profileCleared = defineAction<{ readonly id: string; readonly by: string }>('profile.cleared');

export const clearProfiles = definePermission('profiles.clear', {
  label: 'clear other members’ profiles',
  default: 'moderator',
});
