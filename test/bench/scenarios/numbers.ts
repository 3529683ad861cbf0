export const whole = (value: number): string => Math.round(value).toLocaleString('en-US');
export const decimals = (value: number): string => value.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 2 });
export const ratio = (above: number, below: number): string => `${(above / below).toFixed(2)} x`;
