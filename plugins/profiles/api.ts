import { defineAction, definePermission, Type, type Static } from 'parley-forum';
import { nullable, Time } from 'parley-forum/plugins/api';

/** Characters of the text, of the place and of each link. */
export const MAX_ABOUT = 2_000;
export const MAX_PLACE = 60;
export const MAX_LINK = 200;
export const MAX_LINKS = 5;

/** What a member says of themselves; empty where they say nothing. */
export const ProfileRecord = Type.Object({
  about: Type.String({ description: 'Markdown' }),
  about_html: Type.String(),
  place: Type.String(),
  links: Type.Array(Type.String()),
  updated_at: nullable(Time),
});
export type ProfileRecord = Static<typeof ProfileRecord>;

/** `profile.updated`: what a member says of themselves is another. Raised when a moderator cleared it, too. */
export const profileUpdated = defineAction<{ readonly user: { readonly id: string } }>('profile.updated', {
  public: Type.Object({ user: Type.Object({ id: Type.String() }) }),
});
/** A moderator cleared the profile of another member. */
export const profileCleared = defineAction<{ readonly id: string; readonly by: string }>('profile.cleared');

export const clearProfiles = definePermission('profiles.clear', {
  label: 'clear what other members say of themselves',
  default: 'moderator',
});
