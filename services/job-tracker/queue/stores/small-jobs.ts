/** A job up to so many bytes comes with its ready row. */
export const smallJobBytes = 4_096;
