function [alpha, history] = dcd_ksvm(A, y, alpha, index, loss, C, kernel)
% DCD_KSVM  Dual coordinate descent for the kernel SVM without bias.
%
%   [alpha, history] = DCD_KSVM(A, y, alpha, index, loss, C, kernel) makes
%   one iteration for each entry of index (from 1), starting at alpha.
%   history(:, k) is alpha after iteration k.
%
%   Source: Algorithm 1. Its line 3 would put the labels inside the kernel;
%   they multiply the kernel values here. Skipping a step whose projected
%   gradient vanishes (lines 10, 11) changes nothing while eta > 0.

  [nu, omega] = svm_box(loss, C);
  H = numel(index);
  history = zeros(numel(y), H);
  for k = 1:H
    i = index(k);
    u = y(i) * y .* kernel_panel(A, i, kernel);           % line 7
    eta = u(i) + omega;                                   % line 8
    if eta > 0
      g = u' * alpha - 1 + omega * alpha(i);              % line 9
      theta = min(max(alpha(i) - g / eta, 0), nu) - alpha(i);   % line 12
    else
      theta = nu - alpha(i);                              % no curvature: g = -1
    end
    alpha(i) = alpha(i) + theta;                          % line 16
    history(:, k) = alpha;
  end
end
