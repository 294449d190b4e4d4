import { HttpError } from 'parley-forum';

// What changes while a request waits for its rows: 409, so that callers ask again and get the answer that fits.

/** Locked, moved or deleted. */
export const changedMeanwhile = (): HttpError =>
  new HttpError(409, 'This discussion has just been changed by a moderator; try again');

export const movedMeanwhile = (): HttpError =>
  new HttpError(409, 'This post has just been moved to another discussion; try again');

export const categoryRemovedMeanwhile = (): HttpError =>
  new HttpError(409, 'This category has just been removed; choose another one');
